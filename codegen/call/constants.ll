; Large constants in a file that the caller maps (XlacRunOptions.constants).

@xlac.constants.missing = internal constant [89 x i8] c"its value is in the file beside the object, and the caller gives none (xlac/constants.h)\00"
@xlac.constants.other = internal constant [93 x i8] c"the file of constants that the caller gives is not the one that was written with this object\00"

declare i32 @xlac.call.fail(ptr, ptr, ptr, ptr)

; ptr xlac.constants(options, instruction, opcode, bytes, hash): the file, when it is the one with |bytes| and |hash|; else null, after
; it was told that the constant |instruction| has no value.
define ptr @xlac.constants(ptr %options, ptr %instruction, ptr %opcode, i64 %bytes, i64 %hash) nounwind {
  %is.none = icmp eq ptr %options, null
  br i1 %is.none, label %missing, label %given

given:
  %size = load i64, ptr %options, align 8
  %is.old = icmp ult i64 %size, 112 ; older options end before constants
  br i1 %is.old, label %missing, label %current

current:
  %file.at = getelementptr i8, ptr %options, i64 104
  %file = load ptr, ptr %file.at, align 8
  %is.missing = icmp eq ptr %file, null
  br i1 %is.missing, label %missing, label %offered

offered:
  %bytes.at = getelementptr i8, ptr %file, i64 8
  %hash.at = getelementptr i8, ptr %file, i64 16
  %its.bytes = load i64, ptr %bytes.at, align 8
  %its.hash = load i64, ptr %hash.at, align 8
  %same.bytes = icmp eq i64 %its.bytes, %bytes
  %same.hash = icmp eq i64 %its.hash, %hash
  %is.same = and i1 %same.bytes, %same.hash
  br i1 %is.same, label %good, label %fail

good:
  ret ptr %file

missing:
  br label %fail

fail:
  %message = phi ptr [ @xlac.constants.missing, %missing ], [ @xlac.constants.other, %offered ]
  %status = call i32 @xlac.call.fail(ptr %options, ptr %instruction, ptr %opcode, ptr %message)
  ret ptr null
}
