#if canImport(BackgroundTasks) && !os(macOS) && !os(watchOS)
  public import BackgroundTasks
  import Foundation
  public import HoldfastPorts
  import Synchronization

  /// A source of the scheduled tasks for which iOS launches or wakes the app.
  ///
  /// The app creates it in `application(_:didFinishLaunchingWithOptions:)`, because the system accepts
  /// identifiers of tasks only until the launch ends. Each task is completed exactly once.
  public final class SystemWakes: WakeSource {
    private struct State {
      var handler: (@Sendable (WakeCause, Wake) -> Void)?
      var early: [(WakeCause, Wake)] = []
      /// The identifiers of the tasks that the system accepted.
      var registered: Set<String> = []
    }

    private let state = Mutex(State())
    // The scheduler's methods may be called from any thread, although its class does not say so.
    private nonisolated(unsafe) let scheduler: BGTaskScheduler
    private let tasks: [String]

    /// The identifiers that the system did not accept, because `BGTaskSchedulerPermittedIdentifiers`
    /// in the app's `Info.plist` lacks them or the launch had ended.
    public var refused: [String] {
      let registered = state.withLock(\.registered)
      return tasks.filter { !registered.contains($0) }
    }

    /// The time that the system grants at best to a refresh, and to a processing task.
    private static let refresh = Duration.seconds(20)
    private static let processing = Duration.seconds(60)

    /// Creates a source, and registers all tasks that any run of the app schedules.
    ///
    /// - Parameters:
    ///   - tasks: The identifiers of the tasks.
    ///   - scheduler: The scheduler of the system.
    @MainActor public init(tasks: [String], scheduler: BGTaskScheduler = .shared) {
      unsafe self.scheduler = scheduler
      self.tasks = tasks
      for identifier in tasks {
        let isAccepted = scheduler.register(forTaskWithIdentifier: identifier, using: nil) {
          [weak self] task in
          let wake = Self.wake(for: task)
          self?.put(.task(identifier), wake)
        }
        if isAccepted { state.withLock { _ = $0.registered.insert(identifier) } }
      }
    }

    public func register(_ handler: @escaping @Sendable (WakeCause, Wake) -> Void) {
      let early = state.withLock { state in
        state.handler = handler
        defer { state.early = [] }
        return state.early
      }
      for (cause, wake) in early { handler(cause, wake) }
    }

    public func schedule(_ task: WakeTask) throws(WakeFailure) {
      // A task that starts without a registered handler would end the app.
      guard state.withLock({ $0.registered.contains(task.identifier) }) else {
        throw .notPermitted(identifier: task.identifier)
      }
      let request = Self.request(for: task)
      do {
        try unsafe scheduler.submit(request)
      } catch let error as BGTaskScheduler.Error where error.code == .tooManyPendingTaskRequests {
        throw .tooMany(identifier: task.identifier)
      } catch let error as BGTaskScheduler.Error where error.code == .unavailable {
        throw .unavailable(identifier: task.identifier)
      } catch {
        throw .notPermitted(identifier: task.identifier)
      }
    }

    public func cancel(_ identifier: String) {
      unsafe scheduler.cancel(taskRequestWithIdentifier: identifier)
    }

    /// Passes a wake to the handler, or keeps it until there is one.
    private func put(_ cause: WakeCause, _ wake: Wake) {
      let handler = state.withLock { state in
        if state.handler == nil { state.early.append((cause, wake)) }
        return state.handler
      }
      handler?(cause, wake)
    }

    private static func request(for task: WakeTask) -> BGTaskRequest {
      let request: BGTaskRequest
      if task.isLong {
        let long = BGProcessingTaskRequest(identifier: task.identifier)
        long.requiresNetworkConnectivity = task.needsNetwork
        request = long
      } else {
        request = BGAppRefreshTaskRequest(identifier: task.identifier)
      }
      if task.after > .zero {
        request.earliestBeginDate = Date().addingTimeInterval(task.after / .seconds(1))
      }
      return request
    }

    private static func wake(for task: BGTask) -> Wake {
      // The task is completed once, and its handlers are set before anybody else sees it.
      nonisolated(unsafe) let task = task
      let budget = unsafe task is BGProcessingTask ? processing : refresh
      let wake = Wake(budget: budget) { result in
        unsafe task.setTaskCompleted(success: result == .done)
      }
      // The task keeps its handler, so a strong reference would hold the wake for ever.
      unsafe task.expirationHandler = { [weak wake] in
        wake?.expire()
        wake?.giveBack(.later)
      }
      return wake
    }
  }
#endif
