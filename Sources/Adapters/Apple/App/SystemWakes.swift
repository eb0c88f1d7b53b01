#if canImport(BackgroundTasks) && !os(macOS)
  public import BackgroundTasks
  import Foundation
  public import HoldfastPorts
  import Synchronization
  #if canImport(UIKit)
    public import UIKit
  #endif

  /// A source of the background launches that iOS makes: scheduled tasks, pushes without content, and
  /// uploads that ended.
  ///
  /// The app creates it in `application(_:didFinishLaunchingWithOptions:)`, because the system accepts
  /// identifiers of tasks only until the launch ends. The app delegate passes pushes and the events of
  /// background sessions to `put(…)`. Each completion handler of the system is called exactly once, on
  /// the main actor.
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
    private let time: any BackgroundTime
    private let tasks: [String]

    /// The identifiers that the system did not accept, because `BGTaskSchedulerPermittedIdentifiers`
    /// in the app's `Info.plist` lacks them or the launch had ended.
    public var refused: [String] {
      let registered = state.withLock(\.registered)
      return tasks.filter { !registered.contains($0) }
    }

    /// The time that the system grants at best to a refresh, to a processing task, and to a push or
    /// the events of a background session.
    private static let refresh = Duration.seconds(20)
    private static let processing = Duration.seconds(60)
    private static let event = Duration.seconds(30)

    /// Creates a source, and registers all tasks that any run of the app schedules.
    ///
    /// - Parameters:
    ///   - tasks: The identifiers of the tasks.
    ///   - time: The background time that reports the expiry of a push and of a session's events.
    ///   - scheduler: The scheduler of the system.
    @MainActor public init(
      tasks: [String], time: any BackgroundTime = UnlimitedTime(),
      scheduler: BGTaskScheduler = .shared
    ) {
      unsafe self.scheduler = scheduler
      (self.time, self.tasks) = (time, tasks)
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
    public func put(_ cause: WakeCause, _ wake: Wake) {
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

  #if canImport(UIKit) && !os(watchOS)
    extension SystemWakes {
      /// Passes the ends of uploads of a background session to the handler, from
      /// `application(_:handleEventsForBackgroundURLSession:completionHandler:)`.
      @MainActor public func put(
        uploadsOf session: String, completion: @escaping () -> Void
      ) {
        put(.uploads(session: session), "uploads") { _ in completion() }
      }

      /// Passes a push without content to the handler, from
      /// `application(_:didReceiveRemoteNotification:fetchCompletionHandler:)`.
      @MainActor public func put(
        pushWith completion: @escaping (UIBackgroundFetchResult) -> Void
      ) {
        put(.push, "push") { completion($0 == .done ? .newData : .failed) }
      }

      @MainActor private func put(
        _ cause: WakeCause, _ name: String, done: @escaping @MainActor (WakeResult) -> Void
      ) {
        let expiring = Expiring()
        let grant = time.begin("Holdfast \(name)") { expiring.expire() }
        let wake = Wake(budget: Self.event) { result in
          // A wake is given back on any thread, and UIKit wants its handlers on the main one.
          Task { @MainActor in
            done(result)
            grant?.giveBack()
          }
          if expiring.hasExpired { grant?.giveBack() }
        }
        expiring.hold(wake)
        put(cause, wake)
      }
    }
  #endif

  /// The wake that a grant of background time belongs to.
  private final class Expiring: Sendable {
    private struct State {
      weak var wake: Wake?
      var hasExpired = false
    }

    private let state = Mutex(State())

    var hasExpired: Bool { state.withLock(\.hasExpired) }

    func hold(_ wake: Wake) {
      let hasExpired = state.withLock { state in
        state.wake = wake
        return state.hasExpired
      }
      if hasExpired { expire() }
    }

    func expire() {
      let wake = state.withLock { state in
        state.hasExpired = true
        return state.wake
      }
      wake?.expire()
      wake?.giveBack(.later)
    }
  }
#endif
