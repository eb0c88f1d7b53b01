/// Suspends the task until its continuation is resumed.
///
/// Both closures return what resumes continuations, so that it runs outside of their lock. `enter`
/// asks under that lock whether the task is cancelled: `leave` may have run before and found
/// nothing to remove.
///
/// - Parameters:
///   - enter: Stores the continuation.
///   - leave: Removes it, when the task is cancelled.
package func suspended<Value: Sendable>(
  _ enter: (CheckedContinuation<Value, Never>) -> () -> Void,
  onCancel leave: @Sendable () -> () -> Void
) async -> Value {
  await withTaskCancellationHandler {
    await withCheckedContinuation { continuation in enter(continuation)() }
  } onCancel: {
    leave()()
  }
}
