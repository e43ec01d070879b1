# Builds xlac.  `make` needs what `scripts/setup --run` installs, tests need the rest; `make run` and `make test` call it
# themselves.
#
#   CONFIG=release|debug|asan|tsan|coverage   how (default: release)
#   CC=gcc|clang-19                           with what (default: gcc; clang-19 for asan and tsan)
#   BUILD=DIR                                 where (default: build/$(CONFIG))

CONFIG ?= release
BUILD ?= build/$(CONFIG)
PREFIX ?= /usr/local
LLVM_CONFIG ?= llvm-config-19

ifeq ($(origin CC),default)
CC := $(if $(filter asan tsan,$(CONFIG)),clang-19,gcc)
endif

# ---- flags ----

WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Werror
FLAGS_release := -O2 -g1
FLAGS_debug := -O0 -g3
FLAGS_asan := -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
FLAGS_tsan := -O1 -g -fno-omit-frame-pointer -fsanitize=thread
# Threads may lose counts, but not all of those of a line.
FLAGS_coverage := -O1 -g1 --coverage
CONFIG_FLAGS := $(or $(FLAGS_$(CONFIG)),$(error CONFIG is release, debug, asan, tsan or coverage, not '$(CONFIG)'))

LLVM_INCLUDE := $(shell $(LLVM_CONFIG) --includedir 2>/dev/null)
LLVM_LIBDIR := $(shell $(LLVM_CONFIG) --libdir 2>/dev/null)

# One set of objects for the program and the libraries: nothing is seen outside but what public headers declare.
SHARED_FLAGS := -fPIC -fno-semantic-interposition -fvisibility=hidden
COMPILE := $(CC) -std=c11 -D_GNU_SOURCE $(WARNINGS) $(CONFIG_FLAGS) $(SHARED_FLAGS) -I. -Iinclude $(addprefix -isystem ,$(LLVM_INCLUDE)) $(CFLAGS)
# The build identifier tells what the cache has of one build from what another would make (base/build_identity.h).
LINK := $(CC) $(CONFIG_FLAGS) -Wl,--build-id=sha1 $(LDFLAGS)
# The JIT finds maths and runtime functions in the program itself, hence -rdynamic.
OTHER_LIBRARIES := -lz -lcjson -lpthread -ldl -lm
LIBRARIES := -rdynamic -Wl,--as-needed -L$(LLVM_LIBDIR) -lLLVM-19 $(OTHER_LIBRARIES)
# The released program has LLVM in itself: to load the shared library takes longer than to compile a small module.  Its symbols are
# nobody else's business.  At a fixed address: to correct LLVM's tables of pointers at every start takes 2 ms.  Each shared library takes
# 0.1 ms and more to load, so that few are left.
ifeq ($(CONFIG),release)
LLVM_ARCHIVES := $(shell $(LLVM_CONFIG) --link-static --libs x86 riscv passes orcjit core bitwriter 2>/dev/null)
hidden := $(subst $() ,:,$(LLVM_ARCHIVES:-l%=lib%.a))
PROGRAM_LIBRARIES := -no-pie -rdynamic -Wl,--gc-sections -Wl,--as-needed -L$(LLVM_LIBDIR) -Wl,--exclude-libs,$(hidden) $(LLVM_ARCHIVES) \
                     -static-libgcc -Wl,-Bstatic -lstdc++ -lz -lzstd -Wl,-Bdynamic $(filter-out -lz,$(OTHER_LIBRARIES))
# libxlac has C++'s library in itself as well: its handler for a lack of memory is nobody else's.
LIBXLAC_LIBRARIES := -Wl,--gc-sections -Wl,--as-needed -L$(LLVM_LIBDIR) $(LLVM_ARCHIVES) \
                     -static-libgcc -Wl,-Bstatic -lstdc++ -lz -lzstd -Wl,-Bdynamic -lpthread -ldl -lm
else
PROGRAM_LIBRARIES := $(LIBRARIES)
endif

# ---- sources: every .c of a room is part of it, foo_test.c has a main of its own, foo_testing.c is linked to those ----

ROOMS := base base/packing base/page \
         hlo/type hlo/ir hlo/infer hlo/eval hlo/analysis hlo/machine/description hlo/machine/stream hlo/machine/oracle hlo/network \
         parser $(patsubst %/,%,passes $(sort $(wildcard passes/*/))) \
         $(patsubst %/,%,codegen $(sort $(wildcard codegen/*/ codegen/oncore/*/))) \
         compiler compiler/options runtime/arrays runtime/collectives runtime/engines runtime/remote runtime/standalone library cli
# Of some rooms programs are others: they would take the place of those of all rooms, whose tests are still there.
ifeq ($(origin ROOMS),command line)
ifneq ($(origin BUILD),command line)
$(error ROOMS="..." needs a folder of its own: BUILD=build/mine)
endif
endif
SOURCES := $(sort $(wildcard $(addsuffix /*.c,$(ROOMS))))
TEST_SOURCES := $(filter %_test.c,$(SOURCES))
TESTING_SOURCES := $(filter %_testing.c,$(SOURCES))
MAIN_SOURCE := cli/main.c
LIBRARY_SOURCES := $(filter-out $(TEST_SOURCES) $(TESTING_SOURCES) $(MAIN_SOURCE),$(SOURCES))

object = $(patsubst %.c,$(BUILD)/%.o,$(1))
# All of it, for the program and for tests; libxlac is made of it.
LIBRARY := $(BUILD)/libxlac_internal.a
TESTING_LIBRARY := $(BUILD)/libxlac_testing.a
XLAC := $(BUILD)/xlac
TESTS := $(patsubst %.c,$(BUILD)/test/%,$(TEST_SOURCES))

# All cores; a -j on the command line wins.
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell nproc 2>/dev/null || echo 1)
endif

.PHONY: all library build-tests run run-built test test-built test-unit test-lit test-cases test-faults test-machines test-mutants test-mpi-failures test-races coverage setup setup-run install uninstall deb clean \
        lint check-format format tidy bench compile_commands FORCE
.DELETE_ON_ERROR:

# LAPACK's routines under the names that JAX gives them: a library of its own, where there is a LAPACK to link it with.
LAPACK_SOURCES := $(sort $(wildcard runtime/lapack/*.c))
LAPACK := $(if $(wildcard /usr/include/lapacke.h /usr/include/*/lapacke.h),$(addprefix $(BUILD)/libxlac_lapack,.a .so))

BESIDE = build/xlac $(LAPACK:$(BUILD)/%=build/%) $(MPI_ENGINES:$(BUILD)/%=build/%)

# libxlac, with LLVM in itself: of a released build only.  The soname changes when a program that was linked with an older one would not
# work with the new one.
SONAME := libxlac.so.0
PUBLIC_SOURCES := $(filter library/% runtime/standalone/%,$(LIBRARY_SOURCES))
LIBXLAC := $(if $(filter release,$(CONFIG)),$(addprefix $(BUILD)/,$(SONAME) libxlac.so libxlac.a libxlac.libs))

# Engines of communication: one library for each MPI that there is, loaded when a launcher of it has started the program.
MPIS := $(foreach mpi,openmpi mpich,$(if $(shell command -v mpicc.$(mpi)),$(mpi)))
MPI_ENGINES := $(MPIS:%=$(BUILD)/libxlac_mpi_%.so)
MPI_SOURCES := $(sort $(wildcard runtime/mpi/*.c)) runtime/collectives/movement.c runtime/collectives/reduction.c
# MPICH's constant for "no statuses" is an address of no array, of which gcc warns.
mpi_flags = $(subst -I,-isystem ,$(filter -I%,$(shell mpicc.$(1) -show))) $(if $(findstring clang,$(CC)),,-Wno-stringop-overflow)
mpi_libraries = $(filter -L% -l%,$(shell mpicc.$(1) -show))

all: $(XLAC) $(LAPACK) $(MPI_ENGINES) $(if $(filter build/release,$(BUILD)),$(BESIDE))

$(BESIDE): build/%: build/release/%
	@ln -f $< $@

# ---- rules ----

# What is added for the source $(1).  A test's main is renamed by the compiler: AddressSanitizer makes names of its own from an object's
# public one.  LAPACK becomes a shared library, too.
test_main = $(subst /,_,$(basename $(1)))_main
test_flags = -D'main(...)=$(call test_main,$(1))(__VA_ARGS__); int $(call test_main,$(1))(__VA_ARGS__)'
lapack_flags = -fvisibility=default
source_flags = $(if $(filter %_test.c,$(1)),$(call test_flags,$(1)))$(if $(filter $(LAPACK_SOURCES),$(1)),$(lapack_flags))

# All that decides how objects are made and linked.
COMMANDS = $(COMPILE) | $(call test_flags,foo_test.c) | $(lapack_flags) | $(LINK) $(LIBRARIES) | $(PROGRAM_LIBRARIES) | $(LIBXLAC_LIBRARIES)
quoted = '$(subst ','\'',$(1))'

# Changes only when the commands do, so that another compiler or flag rebuilds everything and nothing else does.
$(BUILD)/flags: FORCE
	@command -v $(CC) >/dev/null && test -n "$(LLVM_INCLUDE)" || \
	  { echo "make: '$(CC)' or '$(LLVM_CONFIG)' is missing: run 'make setup' first" >&2; exit 1; }
	@mkdir -p $(@D)
	@printf '%s\n' $(call quoted,$(COMMANDS)) | cmp -s - $@ || printf '%s\n' $(call quoted,$(COMMANDS)) >$@

$(BUILD)/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	@echo "CC    $<"
	@$(COMPILE) $(call source_flags,$<) -MMD -MP -c -o $@ $<

# The list of members is kept, so that a removed source leaves the library.
$(BUILD)/members: FORCE
	@mkdir -p $(@D)
	@echo '$(LIBRARY_SOURCES)' | cmp -s - $@ || echo '$(LIBRARY_SOURCES)' >$@

$(LIBRARY): $(call object,$(LIBRARY_SOURCES)) $(BUILD)/members
	@echo "AR    $@"
	@rm -f $@
	@ar rcsD $@ $(filter %.o,$^)

$(TESTING_LIBRARY): $(call object,$(TESTING_SOURCES))
	@echo "AR    $@"
	@rm -f $@
	@ar rcsD $@ $^

$(XLAC): $(call object,$(MAIN_SOURCE)) $(LIBRARY)
	@echo "LINK  $@"
	@$(LINK) -o $@ $^ $(PROGRAM_LIBRARIES)

# The public functions and what they need.
$(BUILD)/$(SONAME): $(call object,$(PUBLIC_SOURCES)) library/libxlac.map $(LIBRARY)
	@echo "LINK  $@"
	@$(LINK) -shared -o $@ $(filter %.o,$^) $(LIBRARY) -Wl,-soname,$(SONAME) -Wl,--version-script=library/libxlac.map $(LIBXLAC_LIBRARIES)

$(BUILD)/libxlac.so: $(BUILD)/$(SONAME)
	@ln -sf $(SONAME) $@

# One object, so that what its parts share is seen by them alone.
$(BUILD)/libxlac.a: $(call object,$(PUBLIC_SOURCES)) $(LIBRARY)
	@echo "AR    $@"
	@$(CC) $(CONFIG_FLAGS) -r -nostdlib -o $(BUILD)/libxlac.o $^
	@objcopy --localize-hidden $(BUILD)/libxlac.o
	@rm -f $@ && ar rcsD $@ $(BUILD)/libxlac.o && rm $(BUILD)/libxlac.o

# What a program that is linked with libxlac.a needs besides.
$(BUILD)/libxlac.libs: $(BUILD)/flags
	@echo '-L$(LLVM_LIBDIR) $(LLVM_ARCHIVES) -lstdc++ -lz -lzstd -lpthread -ldl -lm' >$@

library: $(LIBXLAC)
	@$(if $(LIBXLAC),,echo "make: libxlac is made with CONFIG=release" >&2 && exit 2)

# Unit tests are linked once for each top room, all of them into one program, whose name says which of their mains is meant: an edit of
# the library would link each of them otherwise.
TEST_ROOMS := $(sort $(foreach test,$(TEST_SOURCES),$(firstword $(subst /, ,$(test)))))

$(call object,$(TEST_SOURCES)): scripts/unit_tests.c

# The room $(1), its tests $(2).
define ROOM_TESTS
$(BUILD)/unit_tests/$(1).def: FORCE
	@mkdir -p $$(@D)
	@printf 'UNIT_TEST("/%s", %s)\n' $(foreach test,$(2),$(basename $(test)) $(call test_main,$(test))) >$$@.new
	@cmp -s $$@.new $$@ && rm $$@.new || mv $$@.new $$@

$(BUILD)/unit_tests/$(1).o: scripts/unit_tests.c $(BUILD)/unit_tests/$(1).def $(BUILD)/flags
	@$$(COMPILE) -DUNIT_TESTS='"$$(word 2,$$^)"' -c -o $$@ $$<

$(BUILD)/unit_tests/$(1)/all: $(BUILD)/unit_tests/$(1).o $(call object,$(2)) $(TESTING_LIBRARY) $(LIBRARY)
	@mkdir -p $$(@D)
	@echo "LINK  $$@"
	@$$(LINK) -o $$@ $$^ -lcmocka $$(LIBRARIES)

$(patsubst %.c,$(BUILD)/test/%,$(2)): $(BUILD)/unit_tests/$(1)/all
	@mkdir -p $$(@D)
	@ln -sfr $$< $$@
endef

$(foreach room,$(TEST_ROOMS),$(eval $(call ROOM_TESTS,$(room),$(filter $(room)/%,$(TEST_SOURCES)))))

$(BUILD)/libxlac_lapack.a: $(call object,$(LAPACK_SOURCES))
	@echo "AR    $@"
	@rm -f $@ && ar rcsD $@ $^

$(BUILD)/libxlac_lapack.so: $(call object,$(LAPACK_SOURCES))
	@echo "LINK  $@"
	@$(LINK) -shared -o $@ $^ -llapacke -lopenblas -lm

$(BUILD)/libxlac_mpi_%.so: $(MPI_SOURCES) $(wildcard runtime/mpi/*.h runtime/collectives/*.h include/xlac/*.h) $(BUILD)/flags
	@echo "LINK  $@"
	@$(COMPILE) $(call mpi_flags,$*) -shared -o $@ $(MPI_SOURCES) $(call mpi_libraries,$*) $(LDFLAGS)

# Its assembler reads files that the compiler does not know of.
$(BUILD)/runtime/remote/target_sources.o: $(shell sed -n 's/^TARGET_SOURCE(.*"\(.*\)")$$/\1/p' runtime/remote/target_sources.def)
$(BUILD)/codegen/abi_text.o: include/xlac/abi.h
$(BUILD)/codegen/call/call_targets.o: $(wildcard codegen/call/*.ll)
$(BUILD)/codegen/collective/collective_emit.o: codegen/collective/collective.ll
$(BUILD)/base/page/page.o: $(wildcard base/page/*.css base/page/*.html base/page/*.js)

-include $(patsubst %.o,%.d,$(call object,$(SOURCES) $(LAPACK_SOURCES)))
# Objects of tests are kept although no rule names them.
.SECONDARY: $(call object,$(SOURCES))

# ---- running and testing ----

setup:
	@scripts/setup

setup-run:
	@scripts/setup --run

# The main job: two real models compiled, linked with a C program, run and checked.  ARGS="run --seed=1 MODEL.hlo": xlac alone.
ARGS ?=

# The tools are there only after the set-up, so what needs them is a make of its own.
run: setup-run
	@$(MAKE) --no-print-directory run-built

run-built: all
	@$(if $(ARGS),$(XLAC) $(ARGS),CC='$(CC)' examples/run_example $(XLAC) $(BUILD)/examples)

test: setup
	@$(MAKE) --no-print-directory test-built

build-tests: all $(LIBXLAC) $(TESTS)

RUN_TESTS = scripts/run_tests --build=$(BUILD) --config=$(CONFIG)

test-built: build-tests
	@$(RUN_TESTS)

test-unit: $(TESTS)
	@$(RUN_TESTS) unit

test-lit: all $(LIBXLAC)
	@$(RUN_TESTS) lit

# CASES="softmax sort": only these.  CASE_LIMIT=N: the N smallest.
test-cases: all
	@$(RUN_TESTS) $(addprefix --case=,$(CASES)) $(addprefix --case-limit=,$(CASE_LIMIT)) cases

# Everything that can go wrong in jobs of MPI, 100 times each; once each is part of the text tests.
test-mpi-failures: all
	@scripts/check_mpi_failures --xlac=$(XLAC) --times=100

# The smallest CASE_LIMIT cases, or all, on every machine: a quarter of an hour for 60, hours for all.
test-machines: all
	@scripts/corpus_on_machines --xlac=$(XLAC) $(addprefix --limit=,$(CASE_LIMIT)) $(CASES)

# Changed plans by the thousand, each judged by the checker and by executions, and some of more than 2^26 elements, which
# are judged as small ones.  MUTANTS=N, MUTANT_TWINS=N, MUTANT_SEED=N.
MUTANTS ?= 6000
MUTANT_TWINS ?= 1000
MUTANT_SEED ?= 1

test-mutants: $(BUILD)/test/codegen/oncore/language/plan_mutation_test all
	@$< $(MUTANTS) $(MUTANT_SEED)
	@python3 -B testdata/codegen/oncore/plans/Inputs/twins.py $(XLAC) $(BUILD)/twins $(MUTANT_TWINS) $(MUTANT_SEED)

# Everything that can fail, one after another; a sample of it is part of all tests.
test-faults: all
	@scripts/check_faults --xlac=$(XLAC)

# With CONFIG=tsan.
test-races: all $(filter $(BUILD)/test/compiler/% $(BUILD)/test/runtime/% $(BUILD)/test/library/%,$(TESTS))
	@$(RUN_TESTS) races

# Lines of each room that unit and text tests run, in a build of its own; COVERED="unit": only what unit tests run.
COVERED ?= unit lit

coverage:
	@$(MAKE) --no-print-directory CONFIG=coverage BUILD=build/coverage build-tests
	@find build/coverage -name '*.gcda' -delete
	@scripts/run_tests --build=build/coverage --config=coverage $(COVERED); status=$$?; \
	  scripts/coverage --build=build/coverage && exit $$status

FORMATTED := $(sort $(wildcard $(addsuffix /*.[ch],$(ROOMS) include/xlac runtime/lapack runtime/mpi runtime/remote/target) scripts/*.c scripts/*/*.c))
# Other versions of it disagree.
CLANG_FORMAT ?= $(shell command -v clang-format-19)

lint: check-format
	@scripts/check_layers.py
	@scripts/check_opcode_lists
	@scripts/check_comments --units

check-format:
	@$(if $(CLANG_FORMAT),$(CLANG_FORMAT) --dry-run -Werror $(FORMATTED),echo "lint: no clang-format-19, formatting not checked")

format:
	$(CLANG_FORMAT) -i $(FORMATTED)

# How every file is compiled, for editors and clang-tidy.
comma := ,
compile_command = {"directory": "$(CURDIR)", "file": "$(1)", \
  "command": "$(COMPILE) $(call source_flags,$(1)) -c $(1)"}$(if $(filter $(lastword $(SOURCES) $(LAPACK_SOURCES)),$(1)),,$(comma))
compile_commands:
	$(file >compile_commands.json,[)
	$(foreach source,$(SOURCES) $(LAPACK_SOURCES),$(file >>compile_commands.json,$(call compile_command,$(source))))
	$(file >>compile_commands.json,])

# FILES="base/arena.c hlo/ir/*.c": only these.
FILES ?= $(SOURCES)
CLANG_TIDY ?= clang-tidy-19

tidy: compile_commands
	@printf '%s\n' $(FILES) | xargs -P $(shell nproc 2>/dev/null || echo 1) -n 1 $(CLANG_TIDY) --quiet -p .

# Speed beside XLA:CPU and ONNX Runtime, which come from PyPI the first time; scripts/bench alone has everything.
bench: build/xlac
	@scripts/bench --short

# PREFIX=/usr/local; DESTDIR: a folder to put it all under, for packages.
install: all library
	@scripts/install_files $(BUILD) $(PREFIX) $(DESTDIR)

uninstall:
	@scripts/install_files --uninstall $(BUILD) $(PREFIX) $(DESTDIR)

# A package for Debian, in $(BUILD).
deb: all library
	@scripts/make_deb $(BUILD) $(BUILD)/xlac_$(shell sed -n 's/^.define XLAC_VERSION "\(.*\)"/\1/p' base/version.h)_$(shell dpkg --print-architecture).deb
	@ls $(BUILD)/*.deb

clean:
	rm -rf build
