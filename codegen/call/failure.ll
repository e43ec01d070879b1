; Calls out of the module that fail: tells who the caller of the module asked to be told (XlacRunOptions.on_failure).

; i32 xlac.call.fail(options, instruction, callee, message): XLAC_CALL_FAILED, which the module's function returns.
define i32 @xlac.call.fail(ptr %options, ptr %instruction, ptr %callee, ptr %message) nounwind {
  %failure = alloca [3 x ptr], align 8
  %is.none = icmp eq ptr %options, null
  br i1 %is.none, label %done, label %given

given:
  %size = load i64, ptr %options, align 8
  %is.old = icmp ult i64 %size, 72 ; older options end before on_failure and its data
  br i1 %is.old, label %done, label %current

current:
  %on.at = getelementptr i8, ptr %options, i64 56
  %on = load ptr, ptr %on.at, align 8
  %is.silent = icmp eq ptr %on, null
  br i1 %is.silent, label %done, label %tell

tell:
  %data.at = getelementptr i8, ptr %options, i64 64
  %data = load ptr, ptr %data.at, align 8
  %callee.at = getelementptr i8, ptr %failure, i64 8
  %message.at = getelementptr i8, ptr %failure, i64 16
  store ptr %instruction, ptr %failure, align 8
  store ptr %callee, ptr %callee.at, align 8
  store ptr %message, ptr %message.at, align 8
  call void %on(ptr %data, ptr %failure)
  br label %done

done:
  ret i32 1
}
