import Glibc
import Synchronization

/// A connection over a socket of this system. TLS is scripted, and its bytes travel in the clear.
public final class NWConnection: Sendable {
  public enum State: Equatable, Sendable {
    case setup
    case waiting(NWError)
    case preparing
    case ready
    case failed(NWError)
    case cancelled
  }

  public class ContentContext: @unchecked Sendable {
    public static let defaultMessage = ContentContext()
    public static let finalMessage = ContentContext()
  }

  public enum SendCompletion: Sendable {
    case contentProcessed(@Sendable (_ error: NWError?) -> Void)
    case idempotent
  }

  typealias Receipt = @Sendable (Data?, ContentContext?, Bool, NWError?) -> Void

  private struct Inner {
    var state = State.setup
    var stateHandler: (@Sendable (State) -> Void)?
    var viabilityHandler: (@Sendable (Bool) -> Void)?
    var queue: DispatchQueue?
    var stream: Stream?
    var receives: [(most: Int, receipt: Receipt)] = []
    var sends: [(bytes: [UInt8], completion: SendCompletion)] = []
    /// Whether a thread writes the elements of `sends`.
    var isSending = false
  }

  private let inner = Mutex(Inner())
  private let hasReceive = DispatchSemaphore(value: 0)
  private let hasSend = DispatchSemaphore(value: 0)
  public let endpoint: NWEndpoint
  public let parameters: NWParameters

  public init(to endpoint: NWEndpoint, using parameters: NWParameters) {
    (self.endpoint, self.parameters) = (endpoint, parameters)
  }

  public convenience init(
    host: NWEndpoint.Host, port: NWEndpoint.Port, using parameters: NWParameters
  ) {
    self.init(to: .hostPort(host: host, port: port), using: parameters)
  }

  public var state: State { inner.withLock(\.state) }
  public var queue: DispatchQueue? { inner.withLock(\.queue) }

  public var stateUpdateHandler: (@Sendable (_ state: State) -> Void)? {
    get { inner.withLock(\.stateHandler) }
    set { inner.withLock { $0.stateHandler = newValue } }
  }

  public var viabilityUpdateHandler: (@Sendable (_ isViable: Bool) -> Void)? {
    get { inner.withLock(\.viabilityHandler) }
    set { inner.withLock { $0.viabilityHandler = newValue } }
  }

  public func start(queue: DispatchQueue) {
    let isNew = inner.withLock { inner in
      defer { inner.queue = queue }
      return inner.queue == nil && inner.state == .setup
    }
    guard isNew else { return ConnectionScript.note("A connection was started twice or too late.") }
    ConnectionScript.add(self)
    move(to: .preparing)
    Workers.run { self.run() }
  }

  public func receive(
    minimumIncompleteLength: Int, maximumLength: Int,
    completion:
      @escaping @Sendable (
        _ content: Data?, _ contentContext: ContentContext?, _ isComplete: Bool, _ error: NWError?
      ) -> Void
  ) {
    let pending = inner.withLock { inner -> Int? in
      guard inner.queue != nil else { return nil }
      inner.receives.append((maximumLength, completion))
      return inner.receives.count
    }
    guard let pending else { return ConnectionScript.note("A receive preceded the start.") }
    if pending > 1 { ConnectionScript.note("A receive began before the one before was answered.") }
    hasReceive.signal()
  }

  public func send(
    content: Data?, contentContext: ContentContext = .defaultMessage, isComplete: Bool = true,
    completion: SendCompletion
  ) {
    let bytes = [UInt8](content ?? Data())
    guard queue != nil else { return ConnectionScript.note("A send preceded the start.") }
    guard state != .cancelled else { return complete(completion, .posix(.ECANCELED)) }
    // Only bytes that the socket does not take at once need a thread.
    let stream = inner.withLock { inner in
      inner.isSending || inner.state != .ready ? nil : inner.stream
    }
    let taken = stream?.writeNow(bytes) ?? 0
    if stream != nil, taken == bytes.count { return complete(completion, nil) }
    let mustStart = inner.withLock { inner in
      inner.sends.append((Array(bytes[taken...]), completion))
      defer { inner.isSending = inner.isSending || inner.state == .ready }
      return inner.state == .ready && !inner.isSending
    }
    if mustStart { startSending() }
    hasSend.signal()
  }

  /// Writes the bytes that wait on a thread of its own.
  private func startSending() {
    guard let stream = inner.withLock(\.stream) else { return answerRest() }
    Workers.run { self.sendAll(over: stream) }
  }

  public func cancel() { end() }

  public func forceCancel() { end() }

  private func end() {
    let stream = inner.withLock { inner -> Stream? in
      guard inner.state != .cancelled else { return nil }
      defer { inner.stream = nil }
      return inner.stream
    }
    stream?.shutDown()
    ConnectionScript.remove(self)
    move(to: .cancelled)
    hasReceive.signal()
    hasSend.signal()
  }
}

extension NWConnection {
  /// Changes the state and reports it, unless the connection was cancelled.
  private func move(to state: State) {
    let isNew = inner.withLock { inner in
      guard inner.state != .cancelled else { return false }
      inner.state = state
      return true
    }
    if isNew, let handler = stateUpdateHandler { queue?.async { handler(state) } }
  }

  @_spi(Script) public func report(viable isViable: Bool) {
    if let handler = viabilityUpdateHandler { queue?.async { handler(isViable) } }
  }

  /// Connects and then answers receives, on a thread of its own.
  private func run() {
    do throws(NWError) {
      let stream = try Stream(endpoint) { stream in
        inner.withLock { inner in
          guard inner.state != .cancelled else { return false }
          inner.stream = stream
          return true
        }
      }
      if parameters.tls != nil { try shakeHands() }
      becomeReady()
      let mustSend = inner.withLock { inner in
        defer { inner.isSending = inner.isSending || !inner.sends.isEmpty }
        return !inner.sends.isEmpty && !inner.isSending
      }
      if mustSend { startSending() }
      receiveAll(over: stream)
    } catch {
      // Apple's class waits for a better path, and does not fail.
      if case .tls = error { move(to: .failed(error)) } else { move(to: .waiting(error)) }
      answerRest()
    }
  }

  /// Reports that the connection is open. The handlers run on this thread, which saves a change of
  /// threads.
  private func becomeReady() {
    queue?.sync {
      let isNew = inner.withLock { inner in
        guard inner.state != .cancelled else { return false }
        inner.state = .ready
        return true
      }
      guard isNew else { return }
      stateUpdateHandler?(.ready)
      viabilityUpdateHandler?(true)
    }
  }

  private func shakeHands() throws(NWError) {
    switch ConnectionScript.handshake(with: endpoint) {
    case .succeeds: break
    case .fails(let status): throw .tls(status)
    case .hangs: while state != .cancelled { usleep(1_000) }
    }
  }

  private func receiveAll(over stream: Stream) {
    while true {
      hasReceive.wait()
      guard state != .cancelled, let most = inner.withLock({ $0.receives.first?.most }) else {
        break
      }
      let result = stream.read(atMost: most)
      // A cancellation answers the call in the meantime.
      let taken = inner.withLock { inner in
        inner.receives.isEmpty ? nil : inner.receives.removeFirst().receipt
      }
      guard let receipt = taken else { break }
      // The completion runs on this thread, which saves a change of threads.
      queue?.sync {
        switch result {
        case .success(let data) where data.isEmpty: receipt(nil, .finalMessage, true, nil)
        case .success(let data): receipt(data, .defaultMessage, false, nil)
        case .failure(let error): receipt(nil, nil, false, error)
        }
      }
    }
    answerRest()
  }

  private func sendAll(over stream: Stream) {
    while true {
      hasSend.wait()
      guard state != .cancelled, let send = inner.withLock({ $0.sends.first }) else { break }
      let error = stream.write(send.bytes)
      let isWaiting = inner.withLock { inner in
        if inner.sends.isEmpty { return false }
        inner.sends.removeFirst()
        return true
      }
      guard isWaiting else { break }
      complete(send.completion, error)
    }
    answerRest()
  }

  /// Answers all calls that can no longer succeed.
  private func answerRest() {
    guard state == .cancelled else { return }
    let receipts = inner.withLock { inner in
      defer { inner.receives = [] }
      return inner.receives.map(\.receipt)
    }
    let completions = inner.withLock { inner in
      defer { inner.sends = [] }
      return inner.sends.map(\.completion)
    }
    queue?.async {
      for receipt in receipts { receipt(nil, nil, false, .posix(.ECANCELED)) }
    }
    for completion in completions { complete(completion, .posix(.ECANCELED)) }
  }

  private func complete(_ completion: SendCompletion, _ error: NWError?) {
    guard case .contentProcessed(let handler) = completion else { return }
    queue?.async { handler(error) }
  }
}
