; How older custom calls say that they failed (xlac/ffi.h): a status is a message that was allocated, null for success.
; Weak, for several modules in one program.

@xlac.status.out_of_memory = internal constant [14 x i8] c"out of memory\00"

declare i64 @strnlen(ptr, i64)
declare ptr @malloc(i64)
declare void @free(ptr)
declare ptr @memcpy(ptr, ptr, i64)

define void @xlac.status.clear(ptr %status) nounwind {
  %message = load ptr, ptr %status, align 8
  %is.constant = icmp eq ptr %message, @xlac.status.out_of_memory
  br i1 %is.constant, label %done, label %allocated

allocated:
  call void @free(ptr %message)
  br label %done

done:
  store ptr null, ptr %status, align 8
  ret void
}

define weak void @XlaCustomCallStatusSetSuccess(ptr %status) nounwind {
  call void @xlac.status.clear(ptr %status)
  ret void
}

define weak void @XlaCustomCallStatusSetFailure(ptr %status, ptr %message, i64 %size) nounwind {
  call void @xlac.status.clear(ptr %status)
  %length = call i64 @strnlen(ptr %message, i64 %size)
  %bytes = add i64 %length, 1
  %copy = call ptr @malloc(i64 %bytes)
  %is.none = icmp eq ptr %copy, null
  %kept = select i1 %is.none, ptr @xlac.status.out_of_memory, ptr %copy
  store ptr %kept, ptr %status, align 8
  br i1 %is.none, label %done, label %fill

fill:
  %ignored = call ptr @memcpy(ptr %copy, ptr %message, i64 %length)
  %end = getelementptr i8, ptr %copy, i64 %length
  store i8 0, ptr %end, align 1
  br label %done

done:
  ret void
}
