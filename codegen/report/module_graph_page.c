/* A module's graph as a page: drawings in SVG, which needs no script.
 *
 * Layers as in Sugiyama, Tagawa and Toda, "Methods for visual understanding of hierarchical system structures": a node
 * is one layer below the lowest of its operands; within a layer nodes are ordered by the mean place of what they read,
 * then of what reads them. */
#include <stdlib.h>

#include "base/page/html_text.h"
#include "base/page/page.h"
#include "codegen/report/module_graph.h"
#include "hlo/analysis/call_graph.h"

enum { ROW_HEIGHT = 84, NODE_HEIGHT = 44, GAP = 16, LETTER_WIDTH = 7, PADDING = 14, SWEEPS = 4, LONGEST_TEXT = 40 };

typedef struct GraphNode {
  const HloInstruction *instruction;
  int32_t layer;
  double place; /* its centre, in the order and then in the picture */
  double width;
} GraphNode;

typedef struct Drawing {
  StringBuilder *out;
  const HloModule *module;
  const ModuleGraph *graph;
  Arena *scratch;
  GraphNode *nodes;
  int64_t count;
  int64_t *node_of; /* by instruction id; -1: none */
  int32_t layer_count;
  GraphNode ***layers;
  int64_t *sizes;
} Drawing;

/* --- layers --- */

static double text_width(StringView text) {
  return (double)(text.size < LONGEST_TEXT ? text.size : LONGEST_TEXT) * LETTER_WIDTH + 2 * PADDING;
}

static void place_in_layers(Drawing *drawing, const HloComputation *computation) {
  int64_t count;
  HloInstruction **order = hlo_computation_post_order(computation, drawing->scratch, &count);
  drawing->nodes = ARENA_NEW_ARRAY(drawing->scratch, GraphNode, count);
  drawing->count = drawing->layer_count = 0;
  for (int64_t i = 0; i < count; i++) {
    const HloInstruction *instruction = order[i];
    if (!drawing->graph->shown[instruction->id]) continue;
    GraphNode *node = &drawing->nodes[drawing->count];
    double width = text_width(instruction->name);
    double shape = text_width(shape_text(drawing->scratch, instruction->shape, false));
    *node = (GraphNode){.instruction = instruction, .width = width > shape ? width : shape};
    for (int k = 0; k < instruction->operand_count; k++) {
      int64_t operand = drawing->node_of[instruction->operands[k]->id];
      if (operand >= 0 && drawing->nodes[operand].layer >= node->layer) node->layer = drawing->nodes[operand].layer + 1;
    }
    if (node->layer >= drawing->layer_count) drawing->layer_count = node->layer + 1;
    drawing->node_of[instruction->id] = drawing->count++;
  }
}

/* As low as those who read it let it be: short lines; and the layers that have become empty go. */
static void lower(Drawing *drawing) {
  int32_t highest = INT32_MAX;
  for (int64_t n = drawing->count - 1; n >= 0; n--) {
    GraphNode *node = &drawing->nodes[n];
    int32_t lowest = INT32_MAX;
    for (int u = 0; u < node->instruction->user_count; u++) {
      int64_t user = drawing->node_of[node->instruction->users[u]->id];
      if (user >= 0 && drawing->nodes[user].layer < lowest) lowest = drawing->nodes[user].layer;
    }
    if (lowest < INT32_MAX) node->layer = lowest - 1;
    if (node->layer < highest) highest = node->layer;
  }
  for (int64_t n = 0; n < drawing->count; n++) drawing->nodes[n].layer -= highest;
  drawing->layer_count -= drawing->count > 0 ? highest : 0;
}

static void fill_layers(Drawing *drawing) {
  drawing->layers = ARENA_NEW_ARRAY(drawing->scratch, GraphNode **, drawing->layer_count + 1);
  drawing->sizes = ARENA_NEW_ARRAY(drawing->scratch, int64_t, drawing->layer_count + 1);
  for (int64_t n = 0; n < drawing->count; n++) drawing->sizes[drawing->nodes[n].layer]++;
  for (int32_t l = 0; l < drawing->layer_count; l++) {
    drawing->layers[l] = ARENA_NEW_ARRAY(drawing->scratch, GraphNode *, drawing->sizes[l] + 1);
    drawing->sizes[l] = 0;
  }
  for (int64_t n = 0; n < drawing->count; n++) {
    GraphNode *node = &drawing->nodes[n];
    node->place = (double)drawing->sizes[node->layer];
    drawing->layers[node->layer][drawing->sizes[node->layer]++] = node;
  }
}

static int by_place(const void *left, const void *right) {
  const GraphNode *a = *(GraphNode *const *)left, *b = *(GraphNode *const *)right;
  if (a->place != b->place) return a->place < b->place ? -1 : 1;
  return a->instruction->id < b->instruction->id ? -1 : a->instruction->id > b->instruction->id;
}

/* The mean place of neighbours, its own where there are none. */
static double mean_place(const Drawing *drawing, const GraphNode *node, bool of_users) {
  const HloInstruction *instruction = node->instruction;
  int count = of_users ? instruction->user_count : instruction->operand_count, found = 0;
  double sum = 0;
  for (int k = 0; k < count; k++) {
    int64_t other = drawing->node_of[(of_users ? instruction->users[k] : instruction->operands[k])->id];
    if (other < 0) continue;
    sum += drawing->nodes[other].place;
    found++;
  }
  return found > 0 ? sum / found : node->place;
}

/* One after the other from the left, around the middle of the widest layer. */
static double spread(Drawing *drawing) {
  double widest = 0;
  for (int pass = 0; pass < 2; pass++) {
    for (int32_t l = 0; l < drawing->layer_count; l++) {
      double width = GAP;
      for (int64_t i = 0; i < drawing->sizes[l]; i++) width += drawing->layers[l][i]->width + GAP;
      if (width > widest) widest = width;
      double at = (widest - width) / 2 + GAP;
      for (int64_t i = 0; i < drawing->sizes[l]; i++) {
        GraphNode *node = drawing->layers[l][i];
        node->place = at + node->width / 2;
        at += node->width + GAP;
      }
    }
  }
  return widest;
}

static double arrange(Drawing *drawing) {
  double width = spread(drawing);
  for (int sweep = 0; sweep < SWEEPS; sweep++) {
    bool up = sweep % 2 == 1;
    for (int32_t i = 0; i < drawing->layer_count; i++) {
      int32_t l = up ? drawing->layer_count - 1 - i : i;
      for (int64_t n = 0; n < drawing->sizes[l]; n++)
        drawing->layers[l][n]->place = mean_place(drawing, drawing->layers[l][n], up);
      if (drawing->sizes[l] > 1) qsort(drawing->layers[l], (size_t)drawing->sizes[l], sizeof(GraphNode *), by_place);
    }
    width = spread(drawing);
  }
  return width;
}

/* --- pictures --- */

static double top_of(const GraphNode *node) {
  return (double)node->layer * ROW_HEIGHT + GAP;
}

static void draw_edges(const Drawing *drawing, const GraphNode *node) {
  for (int k = 0; k < node->instruction->operand_count; k++) {
    int64_t operand = drawing->node_of[node->instruction->operands[k]->id];
    if (operand < 0) continue;
    const GraphNode *from = &drawing->nodes[operand];
    double y0 = top_of(from) + NODE_HEIGHT, y1 = top_of(node), bend = (y1 - y0) / 2;
    sb_printf(drawing->out, "<path d=\"M%.0f %.0fC%.0f %.0f %.0f %.0f %.0f %.0f\"/>\n", from->place, y0, from->place,
              y0 + bend, node->place, y1 - bend, node->place, y1);
  }
}

static void draw_text(const Drawing *drawing, double x, double y, StringView text) {
  sb_printf(drawing->out, "<text x=\"%.0f\" y=\"%.0f\">", x, y);
  html_append_text(drawing->out, sv_sub(text, 0, LONGEST_TEXT));
  sb_append_cstring(drawing->out, text.size > LONGEST_TEXT ? "\xe2\x80\xa6</text>" : "</text>");
}

/* Its whole text shows where the pointer rests. */
static void draw_node(const Drawing *drawing, const GraphNode *node) {
  StringBuilder *out = drawing->out;
  const HloInstruction *instruction = node->instruction;
  StringBuilder text;
  sb_init(&text, drawing->scratch);
  hlo_instruction_print(&text, instruction, &(HloPrintOptions){.metadata = true, .max_constant_elements = 8});
  bool calls = call_graph_callee_count(instruction) > 0;
  if (calls) sb_printf(out, "<a href=\"#c%d\">", call_graph_callee(instruction, 0)->id);
  sb_printf(out, "<g%s><title>", hlo_instruction_is_root(instruction) ? " class=\"root\"" : "");
  html_append_text(out, sb_view(&text));
  sb_printf(out, "</title><rect x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" height=\"%d\" rx=\"%d\"/>",
            node->place - node->width / 2, top_of(node), node->width, NODE_HEIGHT,
            hlo_opcode_has(instruction->opcode, OP_GIVEN) ? NODE_HEIGHT / 2 : 4);
  draw_text(drawing, node->place, top_of(node) + 18, instruction->name);
  draw_text(drawing, node->place, top_of(node) + 35, shape_text(drawing->scratch, instruction->shape, false));
  sb_append_cstring(out, calls ? "</g></a>\n" : "</g>\n");
}

static void draw_computation(Drawing *drawing, const HloComputation *computation) {
  StringBuilder *out = drawing->out;
  place_in_layers(drawing, computation);
  lower(drawing);
  fill_layers(drawing);
  double width = arrange(drawing), height = (double)drawing->layer_count * ROW_HEIGHT;
  sb_printf(out, "<section id=\"c%d\">\n<h2>", computation->id);
  html_append_text(out, computation->name);
  sb_printf(out, "</h2>\n<div class=\"graph\"><svg width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\">\n", width,
            height, width, height);
  for (int64_t n = 0; n < drawing->count; n++) draw_edges(drawing, &drawing->nodes[n]);
  for (int64_t n = 0; n < drawing->count; n++) draw_node(drawing, &drawing->nodes[n]);
  sb_append_cstring(out, "</svg></div>\n</section>\n");
}

void module_graph_page(StringBuilder *out, const HloModule *module, const ModuleGraph *graph, Arena *scratch) {
  Drawing drawing = {.out = out, .module = module, .graph = graph, .scratch = scratch};
  drawing.node_of = ARENA_NEW_ARRAY(scratch, int64_t, module->next_instruction_id);
  for (int32_t i = 0; i < module->next_instruction_id; i++) drawing.node_of[i] = -1;
  page_begin(out, sv_printf(scratch, "graph of %.*s", SV_ARG(module->name)), NULL);
  for (int64_t c = 0; c < graph->computations.count; c++) draw_computation(&drawing, graph->computations.data[c]);
  page_end(out);
}
