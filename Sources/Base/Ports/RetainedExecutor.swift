extension Executor {
  /// Calls a function that queues a job of this executor, and retains the executor until the
  /// function has returned.
  ///
  /// The runtime does not retain an executor while it calls `enqueue`. As soon as the job is
  /// queued, another thread may run it and release the last reference to the actor and its
  /// executor.
  package func retained(_ body: () -> Void) {
    let executor = unsafe Unmanaged.passRetained(self)
    body()
    unsafe executor.release()
  }
}
