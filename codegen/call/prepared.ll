; What is computed once, before any run (XlacRunOptions.prepared).

@xlac.prepared.missing = internal constant [109 x i8] c"its value is prepared once, before any run, and the options have no memory with it (XlacRunOptions.prepared)\00"

declare i32 @xlac.call.fail(ptr, ptr, ptr, ptr)

; ptr xlac.prepared(options, instruction, opcode): its memory, or null after it was told that |instruction| has no value.
define ptr @xlac.prepared(ptr %options, ptr %instruction, ptr %opcode) nounwind {
  %is.none = icmp eq ptr %options, null
  br i1 %is.none, label %fail, label %given

given:
  %size = load i64, ptr %options, align 8
  %is.old = icmp ult i64 %size, 128 ; older options end before it
  br i1 %is.old, label %fail, label %current

current:
  %memory.at = getelementptr i8, ptr %options, i64 120
  %memory = load ptr, ptr %memory.at, align 8
  %is.missing = icmp eq ptr %memory, null
  br i1 %is.missing, label %fail, label %good

good:
  ret ptr %memory

fail:
  %status = call i32 @xlac.call.fail(ptr %options, ptr %instruction, ptr %opcode, ptr @xlac.prepared.missing)
  ret ptr null
}
