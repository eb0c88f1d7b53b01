// A stand-in for Apple's module BackgroundTasks that runs on Linux: a script says when time passes
// and when a task expires.
@_exported public import Dispatch
@_exported public import Foundation
public import Synchronization

open class BGTask: NSObject {
  public let identifier: String
  public var expirationHandler: (() -> Void)?
  /// The calls of `setTaskCompleted`.
  @_spi(Script) public let completions = Mutex<[Bool]>([])

  init(_ identifier: String) { self.identifier = identifier }

  public func setTaskCompleted(success: Bool) { completions.withLock { $0.append(success) } }
}

public class BGProcessingTask: BGTask {}
public class BGAppRefreshTask: BGTask {}

open class BGTaskRequest: NSObject {
  public let identifier: String
  public var earliestBeginDate: Date?

  fileprivate init(_ identifier: String) { self.identifier = identifier }
}

public class BGAppRefreshTaskRequest: BGTaskRequest {
  public init(identifier: String) { super.init(identifier) }
}

public class BGProcessingTaskRequest: BGTaskRequest {
  public var requiresNetworkConnectivity = false
  public var requiresExternalPower = false

  public init(identifier: String) { super.init(identifier) }
}

/// Apple's class is not Sendable either.
public class BGTaskScheduler: NSObject {
  public struct Error: Swift.Error {
    public enum Code: Int, Sendable {
      case unavailable = 1
      case tooManyPendingTaskRequests = 2
      case notPermitted = 3
      @available(iOS 26.0, *)
      case immediateRunIneligible = 4
    }
    public let code: Code
    init(_ code: Code) { self.code = code }
  }

  private struct State {
    var handlers: [String: (DispatchQueue, (BGTask) -> Void)] = [:]
    var pending: [String: BGTaskRequest] = [:]
    var hasLaunched = false
    var isAvailable = true
    var passed = 0.0
    var launched: [BGTask] = []
    var misuses: [String] = []
  }

  private nonisolated(unsafe) static let only = BGTaskScheduler(permitted: [], refreshes: 1)
  public class var shared: BGTaskScheduler { only }

  private let permitted: Set<String>
  private let refreshes: Int
  private let lock = NSLock()
  private var state = State()
  private let queue = DispatchQueue(label: "background tasks")

  private func locked<Result>(_ use: (inout State) throws -> Result) rethrows -> Result {
    lock.lock()
    defer { lock.unlock() }
    return try use(&state)
  }

  /// Creates the scheduler of one test.
  ///
  /// - Parameters:
  ///   - permitted: The identifiers in the app's `Info.plist`.
  ///   - refreshes: The number of refresh requests that may wait. Apple's scheduler allows one.
  @_spi(Script) public init(permitted: Set<String>, refreshes: Int) {
    (self.permitted, self.refreshes) = (permitted, refreshes)
  }

  public func register(
    forTaskWithIdentifier identifier: String, using queue: DispatchQueue?,
    launchHandler: @escaping (BGTask) -> Void
  ) -> Bool {
    let queue = queue ?? self.queue
    return locked { state in
      if state.hasLaunched { state.misuses.append("\(identifier) is registered after the launch") }
      if state.handlers[identifier] != nil {
        state.misuses.append("\(identifier) is there already")
      }
      guard permitted.contains(identifier), !state.hasLaunched, state.handlers[identifier] == nil
      else { return false }
      state.handlers[identifier] = (queue, launchHandler)
      return true
    }
  }

  public func submit(_ taskRequest: BGTaskRequest) throws {
    let request = taskRequest
    try locked { state in
      guard state.isAvailable else { throw Error(.unavailable) }
      guard permitted.contains(request.identifier) else { throw Error(.notPermitted) }
      if state.handlers[request.identifier] == nil {
        state.misuses.append("\(request.identifier) is submitted without a handler")
      }
      let isLong = request is BGProcessingTaskRequest
      let others = state.pending.values.filter {
        $0.identifier != request.identifier && ($0 is BGProcessingTaskRequest) == isLong
      }
      guard others.count < (isLong ? 10 : refreshes) else {
        throw Error(.tooManyPendingTaskRequests)
      }
      state.pending[request.identifier] = request
    }
  }

  public func cancel(taskRequestWithIdentifier identifier: String) {
    locked { $0.pending[identifier] = nil }
  }
}

@_spi(Script) extension BGTaskScheduler {
  /// A description of each waiting request.
  public var pending: [String] {
    locked { state in
      state.pending.values.map { request in
        guard let long = request as? BGProcessingTaskRequest else {
          return "refresh \(request.identifier)"
        }
        return "processing \(long.identifier) network=\(long.requiresNetworkConnectivity)"
      }.sorted()
    }
  }

  /// Ends the launch of the app, after which nothing can be registered.
  public func endLaunch() { locked { $0.hasLaunched = true } }

  /// Turns background refresh on or off.
  public func setAvailable(_ isAvailable: Bool) { locked { $0.isAvailable = isAvailable } }

  /// Lets time pass, and launches what becomes due, in the order of the dates.
  @discardableResult public func advance(by seconds: Double) -> [BGTask] {
    let due = locked { state in
      state.passed += seconds
      let now = Date().addingTimeInterval(state.passed)
      let due = state.pending.values.filter { ($0.earliestBeginDate ?? now) <= now }
      for request in due { state.pending[request.identifier] = nil }
      return due
    }
    return due.sorted {
      ($0.earliestBeginDate ?? .distantPast) < ($1.earliestBeginDate ?? .distantPast)
    }
    .map { launch($0.identifier, isLong: $0 is BGProcessingTaskRequest) }
  }

  /// Launches a task on the queue of its handler, and returns when the handler has returned.
  @discardableResult public func launch(_ identifier: String, isLong: Bool = false) -> BGTask {
    let task = isLong ? BGProcessingTask(identifier) : BGAppRefreshTask(identifier)
    let found = locked { state in
      state.launched.append(task)
      if state.handlers[identifier] == nil {
        state.misuses.append("\(identifier) is launched without a handler")
      }
      return state.handlers[identifier]
    }
    if let (queue, handler) = found { queue.sync { handler(task) } }
    return task
  }

  /// Takes the time of a task back.
  public func expire(_ task: BGTask) {
    queue.sync {
      if let handler = task.expirationHandler {
        handler()
      } else {
        locked { $0.misuses.append("\(task.identifier) has no expiration handler") }
      }
    }
  }

  /// Returns each misuse, and each launched task that was not completed exactly once.
  public func takeMisuses() -> [String] {
    locked { state in
      let open = state.launched.compactMap { task in
        let count = task.completions.withLock(\.count)
        return count == 1 ? nil : "\(task.identifier) was completed \(count) times"
      }
      defer { (state.misuses, state.launched) = ([], []) }
      return state.misuses + open
    }
  }
}
