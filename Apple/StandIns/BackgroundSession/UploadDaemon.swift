public import Foundation
import Synchronization

public import class FoundationNetworking.HTTPURLResponse
public import struct FoundationNetworking.URLRequest
public import class FoundationNetworking.URLResponse

/// An upload in the system, which outlives the process that began it.
@_spi(Script) public final class Transfer: Sendable {
  struct State {
    var description: String?
    var response: URLResponse?
    var body = Data()
    var error: URLError?
    var stage = URLSessionTask.State.suspended
    /// The number of processes to which the end was reported.
    var tellings = 0
  }

  /// A result of an upload.
  public enum Result: Sendable {
    /// A response; `url` is its address if the system has followed a redirect.
    case answer(Int, headers: [String: String] = [:], body: String = "", url: URL? = nil)
    case failure(URLError.Code)
  }

  public let number: Int
  public let request: URLRequest
  public let file: URL
  public let session: String
  let state = Mutex(State())

  init(_ number: Int, _ request: URLRequest, _ file: URL, _ session: String) {
    (self.number, self.request, self.file, self.session) = (number, request, file, session)
  }

  public var description: String? { state.withLock(\.description) }
  public var isSuspended: Bool { state.withLock { $0.stage == .suspended } }
  public var isOver: Bool { state.withLock { $0.stage == .completed } }

  /// Loses the description, as a relaunch was reported to do.
  public func loseDescription() { state.withLock { $0.description = nil } }
}

/// The system's part of background sessions: it keeps uploads while the app does not run.
@_spi(Script) public final class UploadDaemon: Sendable {
  private struct State {
    var last = 0
    var transfers: [Transfer] = []
    var process: AppProcess?
    var answer: (@Sendable (Transfer) -> Transfer.Result?)?
    var transport: (@Sendable (Transfer) async -> Transfer.Result)?
    /// The sessions for whose events the app is launched.
    var launching: Set<String> = []
    var launch: (@Sendable (String) -> Void)?
    var holdsEnds = false
    var misuses: [String] = []
    var requests: [URLRequest] = []
  }

  private let state = Mutex(State())

  public init() {}

  /// Sets how uploads end at once; an upload without a result runs until `end` is called.
  public func answer(_ answer: @escaping @Sendable (Transfer) -> Transfer.Result?) {
    state.withLock { $0.answer = answer }
  }

  /// Sets how uploads are sent. The transport runs in the daemon, so it survives the process.
  public func send(_ transport: @escaping @Sendable (Transfer) async -> Transfer.Result) {
    state.withLock { $0.transport = transport }
  }

  /// Sets a function that is called when an upload has ended and no process has its session. The
  /// system then launches the app in the background if the session asked for it.
  public func launch(_ launch: @escaping @Sendable (String) -> Void) {
    state.withLock { $0.launch = launch }
  }

  /// Sets whether a running process also waits for ends. Apple does not document when a session
  /// receives them.
  public func holdEnds(_ isHeld: Bool) {
    let process = state.withLock { state in
      state.holdsEnds = isHeld
      return state.process
    }
    if !isHeld { for session in process?.sessions ?? [] { connect(session) } }
  }

  /// The uploads whose end no process has received.
  public func transfers(of session: String) -> [Transfer] {
    state.withLock { $0.transfers.filter { $0.session == session } }
  }

  /// The requests of all uploads that were resumed.
  public var requests: [URLRequest] { state.withLock(\.requests) }

  /// Ends an upload. A running process receives the end at once. Otherwise, the next process does.
  public func end(_ transfer: Transfer, _ result: Transfer.Result) {
    let isNew = transfer.state.withLock { state in
      guard state.stage != .completed else { return false }
      state.stage = .completed
      switch result {
      case .answer(let status, let headers, let body, let url):
        state.response = (url ?? transfer.request.url).flatMap {
          HTTPURLResponse(
            url: $0, statusCode: status, httpVersion: "HTTP/1.1", headerFields: headers)
        }
        state.body = Data(body.utf8)
      case .failure(let code): state.error = URLError(code)
      }
      return true
    }
    guard isNew else { return }
    tell(transfer)
  }

  /// Tells the running process an end. Without one, the system launches the app.
  private func tell(_ transfer: Transfer) {
    if let session = liveSession(transfer.session) { return tell(transfer, to: session) }
    let launch = state.withLock { $0.launching.contains(transfer.session) ? $0.launch : nil }
    launch?(transfer.session)
  }

  /// Tells the running process an end once more, as no documentation excludes.
  public func repeatEnd(of transfer: Transfer) {
    if let session = liveSession(transfer.session) { call(transfer, session) }
  }

  /// Tells the running process that all events were delivered.
  public func finishEvents(of session: String) {
    guard let session = liveSession(session) else { return }
    session.delegateQueue.addOperation {
      guard session.process.isAlive else { return }
      session.delegate?.urlSessionDidFinishEvents(forBackgroundURLSession: session)
    }
  }

  public func takeMisuses() -> [String] {
    state.withLock { state in
      defer { state.misuses = [] }
      return state.misuses
    }
  }

  func addMisuse(_ text: String) { state.withLock { $0.misuses.append(text) } }

  func make(_ request: URLRequest, _ file: URL, _ session: String) -> Transfer {
    state.withLock { state in
      state.last += 1
      let transfer = Transfer(state.last, request, file, session)
      state.transfers.append(transfer)
      return transfer
    }
  }

  func resume(_ transfer: Transfer) {
    let isNew = transfer.state.withLock { state in
      guard state.stage == .suspended else { return false }
      state.stage = .running
      return true
    }
    guard isNew else { return }
    let (answer, transport) = state.withLock { state in
      state.requests.append(transfer.request)
      return (state.answer, state.transport)
    }
    if !FileManager.default.fileExists(atPath: transfer.file.path) {
      end(transfer, .failure(.fileDoesNotExist))
    } else if let result = answer?(transfer) {
      end(transfer, result)
    } else if let transport {
      Task { end(transfer, await transport(transfer)) }
    }
  }

  /// Records whether the app is launched for the events of a session.
  func note(_ configuration: URLSessionConfiguration) {
    guard let session = configuration.identifier else { return }
    state.withLock { state in
      if configuration.sessionSendsLaunchEvents {
        state.launching.insert(session)
      } else {
        state.launching.remove(session)
      }
    }
  }

  func start(_ process: AppProcess) {
    state.withLock { state in
      if state.process?.isAlive == true { state.misuses.append("two processes at once") }
      state.process = process
    }
  }

  /// Tells a new session what ended while no process ran.
  func connect(_ session: URLSession) {
    for transfer in transfers(of: session.identifier) where transfer.isOver {
      tell(transfer, to: session)
    }
  }

  private func liveSession(_ identifier: String) -> URLSession? {
    state.withLock(\.process)?.session(identifier)
  }

  private func tell(_ transfer: Transfer, to session: URLSession) {
    let isFirst = state.withLock { state in
      guard !state.holdsEnds, let index = state.transfers.firstIndex(where: { $0 === transfer })
      else { return false }
      state.transfers.remove(at: index)
      return true
    }
    guard isFirst else { return }
    call(transfer, session)
  }

  private func call(_ transfer: Transfer, _ session: URLSession) {
    session.delegateQueue.addOperation { [self] in
      guard session.process.isAlive else {
        // The process died before the report, so the next process receives it.
        state.withLock { state in
          if !state.transfers.contains(where: { $0 === transfer }) {
            state.transfers.append(transfer)
          }
        }
        return tell(transfer)
      }
      transfer.state.withLock { $0.tellings += 1 }
      let task = URLSessionUploadTask(transfer, session.process)
      let (body, error) = transfer.state.withLock { ($0.body, $0.error) }
      if !body.isEmpty {
        (session.delegate as? any URLSessionDataDelegate)?
          .urlSession(session, dataTask: task, didReceive: body)
      }
      (session.delegate as? any URLSessionTaskDelegate)?
        .urlSession(session, task: task, didCompleteWithError: error)
    }
  }
}

/// A run of the app. Sessions made inside `run` belong to it.
@_spi(Script) public final class AppProcess: Sendable {
  private struct State {
    var isAlive = true
    var sessions: [String: URLSession] = [:]
  }

  @TaskLocal static var current: AppProcess?
  public let daemon: UploadDaemon
  private let state = Mutex(State())

  public init(_ daemon: UploadDaemon) {
    self.daemon = daemon
    daemon.start(self)
  }

  /// Runs code as a part of this process.
  public func run<Result>(_ body: () throws -> Result) rethrows -> Result {
    try Self.$current.withValue(self) { try body() }
  }

  public var isAlive: Bool { state.withLock(\.isAlive) }

  /// Ends the process without warning. Nothing is delivered to it any more; its uploads continue. The
  /// calls of its objects, which the test still holds, have no effect any more.
  public func kill() {
    state.withLock { ($0.isAlive, $0.sessions) = (false, [:]) }
  }

  /// The configuration of a session.
  public func configuration(of session: String) -> URLSessionConfiguration? {
    state.withLock { $0.sessions[session]?.configuration }
  }

  /// The sessions that the process has created.
  var sessions: [URLSession] { state.withLock { Array($0.sessions.values) } }

  func session(_ identifier: String) -> URLSession? { state.withLock { $0.sessions[identifier] } }

  func attach(_ session: URLSession) {
    let isSecond = state.withLock { state in
      defer { state.sessions[session.identifier] = session }
      return state.sessions[session.identifier] != nil
    }
    if isSecond { daemon.addMisuse("two sessions of the identifier \(session.identifier)") }
    daemon.note(session.configuration)
    daemon.connect(session)
  }
}
