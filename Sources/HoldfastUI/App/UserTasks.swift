/// The tasks that work for the user who is signed in. A sign-out ends them.
@MainActor final class UserTasks {
  private var tasks: [Int: Task<Void, Never>] = [:]
  private var last = 0

  /// Starts a task, and keeps it until it has ended.
  @discardableResult
  func start(_ work: @escaping @MainActor () async -> Void) -> Task<Void, Never> {
    last += 1
    let number = last
    let task = Task {
      await work()
      self.tasks[number] = nil
    }
    tasks[number] = task
    return task
  }

  /// Cancels all tasks, and returns when they have ended.
  func end() async {
    let running = Array(tasks.values)
    for task in running { task.cancel() }
    for task in running { await task.value }
  }
}
