import Dispatch
public import HoldfastBottleData
public import HoldfastCore
public import HoldfastFeaturePorts
import Synchronization

/// A central that uses a Unix socket as its radio. A peripheral that listens on the socket is in
/// range.
///
/// If no peripheral listens, the peripheral is out of range. During a scan or a pending connect,
/// the central tries to connect four times a second. If a request has no response within 30 s, the
/// connection ends, as GATT requires (Core Specification, volume 3, part F, 3.3.3).
public final class SocketCentral: Central {
  private static let retryPause = DispatchTimeInterval.milliseconds(250)
  private static let answer = DispatchTimeInterval.seconds(30)

  typealias Answer = CheckedContinuation<[UInt8]?, Never>

  struct Ticket {
    let attempt: AttemptID
    let id: PeripheralID
  }

  struct State {
    var deliver: (@Sendable (CentralEvent) -> Void)?
    var channel: FrameChannel?
    var isScanning = false
    var services: [GATTID] = []
    /// The tickets, oldest first.
    var tickets: [Ticket] = []
    /// The attempts whose tickets do not connect yet.
    var resting: Set<AttemptID> = []
    /// The peripheral that is connected or being connected.
    var asked: PeripheralID?
    var isLinked = false
    var longestValue = 20
    var lastRequest: UInt16 = 0
    var answers: [UInt16: Answer] = [:]
    var isRetrying = false
    var isClosed = false
    /// The number of times that the central was closed.
    var closes = 0
  }

  private let path: String
  private let queue = DispatchQueue(label: "holdfast.radio")
  private let state = Mutex(State())

  /// Creates a central that uses a socket as its radio.
  public init(path: String) {
    self.path = path
  }

  /// Checks whether a path can be used as the socket of a radio.
  ///
  /// A path without a file is not an error; the peripheral is then out of range.
  ///
  /// - Throws: `RadioSocketError` if the path is too long, refers to a file of another kind, or may
  ///   not be accessed.
  public static func check(path: String) throws(RadioSocketError) {
    try LocalSocket.check(path)
  }

  public func events(_ deliver: @escaping @Sendable (CentralEvent) -> Void) {
    queue.async { [self] in
      state.withLock { ($0.deliver, $0.isClosed) = (deliver, false) }
      deliver(.adapter(.on))
    }
  }

  public func scan(for services: [GATTID]) {
    queue.async { [self] in
      guard !state.withLock(\.isClosed) else { return }
      state.withLock { ($0.isScanning, $0.services) = (true, services) }
      connectIfNeeded()
    }
  }

  /// Stops the scan for peripherals. Pending connects remain.
  public func stopScan() {
    queue.async { [self] in state.withLock { $0.isScanning = false } }
  }

  public func connect(
    _ id: PeripheralID, attempt: AttemptID, isQueued: Bool, after rest: Duration
  ) {
    queue.async { [self] in
      guard !state.withLock(\.isClosed) else { return }
      let (isOpen, closes) = state.withLock { state in
        if !state.tickets.contains(where: { $0.attempt == attempt }) {
          state.tickets.append(Ticket(attempt: attempt, id: id))
          if rest > .zero { state.resting.insert(attempt) }
        }
        return (state.isLinked && state.asked == id, state.closes)
      }
      if isOpen { report(.connected(attempt)) } else { connectIfNeeded() }
      guard rest > .zero else { return }
      // The central connects at the next advertisement, which arrives within a second.
      queue.asyncAfter(deadline: .now() + .nanoseconds(Int(rest.nanoseconds))) { [weak self] in
        // A later user of the central may have given the same number to another attempt.
        self?.state.withLock { if $0.closes == closes { $0.resting.remove(attempt) } }
      }
    }
  }

  public func cancel(_ attempt: AttemptID) {
    queue.async { [self] in
      let (channel, answers) = state.withLock { state -> (FrameChannel?, [Answer]) in
        let count = state.tickets.count
        state.tickets.removeAll { $0.attempt == attempt }
        state.resting.remove(attempt)
        guard count > 0, state.tickets.isEmpty, state.asked != nil else { return (nil, []) }
        (state.isLinked, state.asked) = (false, nil)
        return (state.channel, state.takeAnswers())
      }
      channel?.send(.disconnect)
      for answer in answers { answer.resume(returning: nil) }
    }
  }

  public func discover(
    _ service: GATTID, _ characteristics: [GATTID], of attempt: AttemptID
  ) async throws(LinkFailure) {
    guard await ask(attempt, { .discover($0, characteristics) }) != nil else {
      throw .protocolError(detail: "the bottle lacks a characteristic, or is gone")
    }
  }

  public func notify(_ characteristic: GATTID, of attempt: AttemptID) async throws(LinkFailure) {
    guard await ask(attempt, { .subscribe($0, characteristic) }) != nil else {
      throw .protocolError(detail: "the bottle refused a subscription, or is gone")
    }
  }

  public func read(
    _ characteristic: GATTID, of attempt: AttemptID
  ) async throws(LinkFailure) -> [UInt8] {
    guard let bytes = await ask(attempt, { .read($0, characteristic) }) else {
      throw .protocolError(detail: "the bottle refused a read, or is gone")
    }
    return bytes
  }

  public func write(
    _ bytes: [UInt8], to characteristic: GATTID, of attempt: AttemptID
  ) async throws(LinkFailure) {
    guard await ask(attempt, { .write($0, characteristic, bytes) }) != nil else {
      throw .protocolError(detail: "the bottle refused a write, or is gone")
    }
  }

  public func longestValue(of attempt: AttemptID) async -> Int {
    state.withLock(\.longestValue)
  }

  public func close() async {
    await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
      queue.async { [self] in
        let (channel, answers) = state.withLock { state -> (FrameChannel?, [Answer]) in
          defer { state.close() }
          return (state.channel, state.takeAnswers())
        }
        channel?.end()
        for answer in answers { answer.resume(returning: nil) }
        done.resume()
      }
    }
  }

  // MARK: On the queue

  private func report(_ event: CentralEvent) {
    state.withLock(\.deliver)?(event)
  }

  /// Sends a request and waits for the response; `nil` if the request is refused or the connection
  /// ends.
  private func ask(
    _ attempt: AttemptID, _ frame: @escaping @Sendable (UInt16) -> RadioFrame
  ) async -> [UInt8]? {
    await withCheckedContinuation { (answer: Answer) in
      queue.async { [self] in
        let sending = state.withLock { state -> (FrameChannel, UInt16)? in
          guard state.isLinked, let channel = state.channel,
            state.tickets.contains(where: { $0.attempt == attempt })
          else { return nil }
          state.lastRequest &+= 1
          state.answers[state.lastRequest] = answer
          return (channel, state.lastRequest)
        }
        guard let (channel, number) = sending else { return answer.resume(returning: nil) }
        channel.send(frame(number))
        queue.asyncAfter(deadline: .now() + Self.answer) { [self] in late(number) }
      }
    }
  }

  private func late(_ number: UInt16) {
    guard state.withLock({ $0.answers[number] != nil }) else { return }
    state.withLock(\.channel)?.send(.disconnect)
    unlinked(.timeout(.response))
  }

  /// Connects to the socket if a scan or a connect requires it.
  private func connectIfNeeded() {
    let isWanted = state.withLock { state in
      !state.isClosed && !state.isRetrying && state.channel == nil
        && (state.isScanning || !state.tickets.isEmpty)
    }
    guard isWanted else { return }
    if let found = try? LocalSocket.connect(to: path) {
      let channel = FrameChannel(found, on: queue) { [weak self] frame in
        self?.take(frame)
      } ended: { [weak self] in
        self?.channelEnded()
      }
      state.withLock { $0.channel = channel }
      return
    }
    retryLater()
  }

  private func retryLater() {
    state.withLock { $0.isRetrying = true }
    queue.asyncAfter(deadline: .now() + Self.retryPause) { [weak self] in
      self?.state.withLock { $0.isRetrying = false }
      self?.connectIfNeeded()
    }
  }

  private func take(_ frame: RadioFrame) {
    switch frame {
    case .advertisement(let id, let service, let name): advertised(id, service, name)
    case .connected(let longest): linked(Int(longest))
    case .disconnected: unlinked(.reset)
    case .notification(let id, let bytes):
      guard let attempt = state.withLock({ $0.isLinked ? $0.tickets.first?.attempt : nil })
      else { return }
      // All tickets of a connection would receive the same value, so it is reported once, for the
      // oldest ticket.
      report(.value(attempt, id, bytes))
    case .reply(let number, let bytes):
      state.withLock { $0.answers.removeValue(forKey: number) }?.resume(returning: bytes)
    case .connect, .disconnect, .discover, .subscribe, .read, .write: return  // sent by phones only
    }
  }

  private func advertised(_ id: PeripheralID, _ service: GATTID, _ name: String) {
    let (isNews, connects) = state.withLock { state in
      let connects =
        state.asked == nil
        && state.tickets.contains { $0.id == id && !state.resting.contains($0.attempt) }
      if connects { state.asked = id }
      return (state.isScanning && state.services.contains(service), connects)
    }
    if isNews { report(.found(id, name: name)) }
    if connects { state.withLock(\.channel)?.send(.connect) }
  }

  private func linked(_ longest: Int) {
    let tickets = state.withLock { state -> [AttemptID]? in
      guard state.asked != nil, !state.isLinked else { return nil }
      (state.isLinked, state.longestValue) = (true, longest)
      return state.tickets.map(\.attempt)
    }
    guard let tickets else {
      state.withLock(\.channel)?.send(.disconnect)
      return
    }
    for attempt in tickets { report(.connected(attempt)) }
  }

  /// Handles the end of a connection, or a refused connect. The tickets of a refused connect
  /// remain.
  private func unlinked(_ failure: LinkFailure) {
    let (lost, answers) = state.withLock { state -> ([AttemptID], [Answer]) in
      let lost = state.isLinked ? state.tickets.map(\.attempt) : []
      if state.isLinked { (state.tickets, state.resting) = ([], []) }
      (state.isLinked, state.asked) = (false, nil)
      return (lost, state.takeAnswers())
    }
    for answer in answers { answer.resume(returning: nil) }
    for attempt in lost { report(.disconnected(attempt, failure)) }
  }

  private func channelEnded() {
    state.withLock { $0.channel = nil }
    unlinked(.timeout(.silence))
    // A listener that accepts connections but closes them immediately is retried as often as a
    // missing one.
    retryLater()
  }
}

extension SocketCentral.State {
  fileprivate mutating func takeAnswers() -> [SocketCentral.Answer] {
    defer { answers = [:] }
    return Array(answers.values)
  }

  /// Ends all work, except a retry that is already scheduled and the numbering of requests.
  fileprivate mutating func close() {
    let (closes, lastRequest, isRetrying) = (closes + 1, lastRequest, isRetrying)
    self = Self()
    (isClosed, self.closes) = (true, closes)
    (self.lastRequest, self.isRetrying) = (lastRequest, isRetrying)
  }
}
