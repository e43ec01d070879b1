; Host transfers: asks who the caller of the module offered (XlacRunOptions.transfer).

@xlac.transfer.unoffered = internal constant [35 x i8] c"the caller offers no host transfer\00"

; The message of xlac.call.transfer(options, transfer): null when the transfer was done.
define ptr @xlac.call.transfer(ptr %options, ptr %transfer) nounwind {
  %is.none = icmp eq ptr %options, null
  br i1 %is.none, label %unoffered, label %given

given:
  %size = load i64, ptr %options, align 8
  %is.old = icmp ult i64 %size, 88 ; older options end before transfer and its data
  br i1 %is.old, label %unoffered, label %current

current:
  %do.at = getelementptr i8, ptr %options, i64 72
  %do = load ptr, ptr %do.at, align 8
  %is.missing = icmp eq ptr %do, null
  br i1 %is.missing, label %unoffered, label %offered

offered:
  %data.at = getelementptr i8, ptr %options, i64 80
  %data = load ptr, ptr %data.at, align 8
  %message = call ptr %do(ptr %data, ptr %transfer)
  ret ptr %message

unoffered:
  ret ptr @xlac.transfer.unoffered
}
