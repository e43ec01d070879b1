; Communication between devices: asks whom the caller of the module offered (XlacRunOptions.communication).

@xlac.collective.unoffered = internal constant [51 x i8] c"the caller offers no communication between devices\00"

; The engine; null: there is none.
define internal ptr @xlac.collective.engine(ptr %options) nounwind {
  %is.none = icmp eq ptr %options, null
  br i1 %is.none, label %unoffered, label %given

given:
  %size = load i64, ptr %options, align 8
  %is.old = icmp ult i64 %size, 104 ; older options end before device and communication
  br i1 %is.old, label %unoffered, label %current

current:
  %engine.at = getelementptr i8, ptr %options, i64 96
  %engine = load ptr, ptr %engine.at, align 8
  ret ptr %engine

unoffered:
  ret ptr null
}

; The message of xlac.collective.start(options, collective, operands, results): null when it has begun.
define ptr @xlac.collective.start(ptr %options, ptr %collective, ptr %operands, ptr %results) nounwind {
  %engine = call ptr @xlac.collective.engine(ptr %options)
  %is.missing = icmp eq ptr %engine, null
  br i1 %is.missing, label %unoffered, label %offered

offered:
  %data.at = getelementptr i8, ptr %engine, i64 8
  %data = load ptr, ptr %data.at, align 8
  %start.at = getelementptr i8, ptr %engine, i64 16
  %start = load ptr, ptr %start.at, align 8
  %message = call ptr %start(ptr %data, ptr %collective, ptr %operands, ptr %results)
  ret ptr %message

unoffered:
  ret ptr @xlac.collective.unoffered
}

; The message of xlac.collective.wait(options, collective), which has begun: null when it is done.
define ptr @xlac.collective.wait(ptr %options, ptr %collective) nounwind {
  %engine = call ptr @xlac.collective.engine(ptr %options)
  %data.at = getelementptr i8, ptr %engine, i64 8
  %data = load ptr, ptr %data.at, align 8
  %wait.at = getelementptr i8, ptr %engine, i64 24
  %wait = load ptr, ptr %wait.at, align 8
  %message = call ptr %wait(ptr %data, ptr %collective)
  ret ptr %message
}

; Says that this device comes to no further collective: null when the engine has nothing against it, or does not want to
; know.
define ptr @xlac.collective.finish(ptr %options) nounwind {
  %engine = call ptr @xlac.collective.engine(ptr %options)
  %is.missing = icmp eq ptr %engine, null
  br i1 %is.missing, label %untold, label %offered

offered:
  %size = load i64, ptr %engine, align 8
  %is.old = icmp ult i64 %size, 40 ; older engines end before finish
  br i1 %is.old, label %untold, label %current

current:
  %finish.at = getelementptr i8, ptr %engine, i64 32
  %finish = load ptr, ptr %finish.at, align 8
  %is.null = icmp eq ptr %finish, null
  br i1 %is.null, label %untold, label %told

told:
  %data.at = getelementptr i8, ptr %engine, i64 8
  %data = load ptr, ptr %data.at, align 8
  %message = call ptr %finish(ptr %data)
  ret ptr %message

untold:
  ret ptr null
}

; The number of the device that runs: 0 where the caller does not say.
define i64 @xlac.collective.device(ptr %options) nounwind {
  %is.none = icmp eq ptr %options, null
  br i1 %is.none, label %unsaid, label %given

given:
  %size = load i64, ptr %options, align 8
  %is.old = icmp ult i64 %size, 104
  br i1 %is.old, label %unsaid, label %current

current:
  %device.at = getelementptr i8, ptr %options, i64 88
  %device = load i64, ptr %device.at, align 8
  ret i64 %device

unsaid:
  ret i64 0
}
