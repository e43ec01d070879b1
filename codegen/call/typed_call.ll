; What handlers of typed custom calls may call (xlac/ffi.h).  The stages before execution are not run, there is one
; device and no state between calls: whatever asks for those gets an error.

; An error: i32 whether it was allocated, then its message.
@xlac.ffi.out_of_memory = internal constant { i32, [14 x i8] } { i32 0, [14 x i8] c"out of memory\00" }
@xlac.ffi.unoffered_error = internal constant { i32, [65 x i8] }
  { i32 0, [65 x i8] c"this function of XLA's FFI is not available in code made by xlac\00" }

declare i64 @strlen(ptr)
declare ptr @malloc(i64)
declare ptr @calloc(i64, i64)
declare void @free(ptr)
declare ptr @memcpy(ptr, ptr, i64)
declare i32 @sched_yield()

; --- errors ---

define internal ptr @xlac.ffi.error_create(ptr %args) nounwind {
  %message.at = getelementptr i8, ptr %args, i64 16
  %message = load ptr, ptr %message.at, align 8
  %length = call i64 @strlen(ptr %message)
  %size = add i64 %length, 5
  %error = call ptr @malloc(i64 %size)
  %is.none = icmp eq ptr %error, null
  br i1 %is.none, label %failed, label %copy

copy:
  store i32 1, ptr %error, align 4
  %text = getelementptr i8, ptr %error, i64 4
  %bytes = add i64 %length, 1
  %ignored = call ptr @memcpy(ptr %text, ptr %message, i64 %bytes)
  ret ptr %error

failed:
  ret ptr @xlac.ffi.out_of_memory
}

define ptr @xlac.ffi.message(ptr %error) nounwind {
  %text = getelementptr i8, ptr %error, i64 4
  ret ptr %text
}

define internal void @xlac.ffi.error_message(ptr %args) nounwind {
  %error.at = getelementptr i8, ptr %args, i64 16
  %message.at = getelementptr i8, ptr %args, i64 24
  %error = load ptr, ptr %error.at, align 8
  %text = call ptr @xlac.ffi.message(ptr %error)
  store ptr %text, ptr %message.at, align 8
  ret void
}

define void @xlac.ffi.destroy(ptr %error) nounwind {
  %is.none = icmp eq ptr %error, null
  br i1 %is.none, label %done, label %some

some:
  %was.allocated = load i32, ptr %error, align 4
  %is.constant = icmp eq i32 %was.allocated, 0
  br i1 %is.constant, label %done, label %allocated

allocated:
  call void @free(ptr %error)
  br label %done

done:
  ret void
}

define internal void @xlac.ffi.error_destroy(ptr %args) nounwind {
  %error.at = getelementptr i8, ptr %args, i64 16
  %error = load ptr, ptr %error.at, align 8
  call void @xlac.ffi.destroy(ptr %error)
  ret void
}

define internal ptr @xlac.ffi.unoffered(ptr %args) nounwind {
  ret ptr @xlac.ffi.unoffered_error
}

; --- one thread, one device ---

define internal ptr @xlac.ffi.schedule(ptr %args) nounwind {
  %task.at = getelementptr i8, ptr %args, i64 24
  %data.at = getelementptr i8, ptr %args, i64 32
  %task = load ptr, ptr %task.at, align 8
  %data = load ptr, ptr %data.at, align 8
  call void %task(ptr %data)
  ret ptr null
}

define internal ptr @xlac.ffi.thread_count(ptr %args) nounwind {
  %count.at = getelementptr i8, ptr %args, i64 24
  %count = load ptr, ptr %count.at, align 8
  store i64 1, ptr %count, align 8
  ret ptr null
}

define internal ptr @xlac.ffi.device(ptr %args) nounwind {
  %device.at = getelementptr i8, ptr %args, i64 24
  store i32 0, ptr %device.at, align 4
  ret ptr null
}

; --- handlers that end later than they return ---

; A future: i32 whether it has ended, then the error.
define internal ptr @xlac.ffi.future_create(ptr %args) nounwind {
  %future.at = getelementptr i8, ptr %args, i64 16
  %future = call ptr @calloc(i64 1, i64 16)
  store ptr %future, ptr %future.at, align 8
  %is.none = icmp eq ptr %future, null
  %error = select i1 %is.none, ptr @xlac.ffi.out_of_memory, ptr null
  ret ptr %error
}

; Behind the store of the mark the future is the waiting thread's.
define internal ptr @xlac.ffi.future_available(ptr %args) nounwind {
  %future.at = getelementptr i8, ptr %args, i64 16
  %future = load ptr, ptr %future.at, align 8
  store atomic i32 1, ptr %future release, align 4
  ret ptr null
}

define internal ptr @xlac.ffi.future_error(ptr %args) nounwind {
  %future.at = getelementptr i8, ptr %args, i64 16
  %given.at = getelementptr i8, ptr %args, i64 24
  %future = load ptr, ptr %future.at, align 8
  %given = load ptr, ptr %given.at, align 8
  %error.at = getelementptr i8, ptr %future, i64 8
  store ptr %given, ptr %error.at, align 8
  store atomic i32 1, ptr %future release, align 4
  ret ptr null
}

; The error of a handler that returned |error| and left |future|, once it has ended.
define ptr @xlac.ffi.wait(ptr %error, ptr %future) nounwind {
  %is.done = icmp eq ptr %future, null
  br i1 %is.done, label %returned, label %look

look:
  %ended = load atomic i32, ptr %future acquire, align 4
  %is.running = icmp eq i32 %ended, 0
  br i1 %is.running, label %yield, label %take

yield:
  %ignored = call i32 @sched_yield()
  br label %look

take:
  %later.at = getelementptr i8, ptr %future, i64 8
  %later = load ptr, ptr %later.at, align 8
  call void @free(ptr %future)
  ret ptr %later

returned:
  ret ptr %error
}

; --- XLA_FFI_Api ---

%xlac.ffi.version = type { i64, ptr, i32, i32 }
@xlac.ffi.api = constant { i64, ptr, %xlac.ffi.version, ptr, [18 x ptr] } {
  i64 192, ptr null, %xlac.ffi.version { i64 24, ptr null, i32 0, i32 3 }, ptr null, [18 x ptr] [
    ptr @xlac.ffi.error_create, ptr @xlac.ffi.error_message, ptr @xlac.ffi.error_destroy,
    ptr @xlac.ffi.unoffered,        ; Handler_Register
    ptr @xlac.ffi.unoffered,        ; Stream_Get
    ptr @xlac.ffi.unoffered,        ; Type_Register
    ptr @xlac.ffi.unoffered,        ; ExecutionContext_Get
    ptr @xlac.ffi.unoffered,        ; State_Set
    ptr @xlac.ffi.unoffered,        ; State_Get
    ptr @xlac.ffi.unoffered,        ; DeviceMemory_Allocate
    ptr @xlac.ffi.unoffered,        ; DeviceMemory_Free
    ptr @xlac.ffi.schedule, ptr @xlac.ffi.thread_count,
    ptr @xlac.ffi.future_create, ptr @xlac.ffi.future_available, ptr @xlac.ffi.future_error,
    ptr @xlac.ffi.unoffered,        ; RunId_Get
    ptr @xlac.ffi.device ] }
