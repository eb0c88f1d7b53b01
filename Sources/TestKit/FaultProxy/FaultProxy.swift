import HoldfastCore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#elseif canImport(Darwin)
  import Darwin
#endif

/// A TCP proxy on the loopback interface that injects faults, for tests over real sockets.
///
/// The proxy has one thread and buffers at most 1 MiB for each connection and direction. It closes
/// its connections when the last reference to it is released.
public actor FaultProxy {
  /// The port on 127.0.0.1 on which the proxy listens. It does not change while faults come and go.
  public nonisolated let port: UInt16
  /// The traffic so far.
  public private(set) var traffic = Traffic()

  private let upstream: UInt16
  private let loop: PollLoop
  /// A bound socket that never listens. It reserves the port while connections are refused.
  private let keeper: Int32
  private var listener: ProxyListener
  private var fault = Fault.pass
  private var links: [Int: Link] = [:]
  /// The connections that the proxy itself answers.
  private var answered: [Int: AnsweredLink] = [:]
  private var waiting: [Waiting] = []

  private struct Waiting {
    var condition: @Sendable (Traffic) -> Bool
    var continuation: CheckedContinuation<Traffic, Never>
  }

  /// Creates a proxy on a free port that forwards each connection to `upstream` on 127.0.0.1.
  public init(upstream: UInt16) throws(FaultProxyError) {
    self.upstream = upstream
    loop = try PollLoop()
    keeper = try TCP.bound(to: 0)
    port = TCP.localPort(of: keeper)
    listener = try ProxyListener(port: port)
    loop.start { [weak self] ready in self?.assumeIsolated { $0.turn(ready) } }
  }

  deinit {
    for link in links.values { _ = link.close() }
    for link in answered.values { link.close() }
    listener.shut()
    TCP.close(keeper)
    loop.wake()
  }

  public nonisolated var unownedExecutor: UnownedSerialExecutor {
    unsafe loop.asUnownedSerialExecutor()
  }

  /// Replaces the fault. The new fault applies to open and new connections when the call returns.
  ///
  /// `.cut` and `.reset` end all open connections. Set `.pass` immediately afterwards so that later
  /// connections are not ended.
  public func set(_ fault: Fault) throws(FaultProxyError) {
    self.fault = fault
    admit()
    for id in links.keys.sorted() { links[id]?.set(fault) }
    if fault == .cut || fault == .reset { endAll() }
    try updateListener()
  }

  /// Makes the open connections silent for good, as a phone's are after it has changed its network
  /// path. New connections are not affected.
  public func strand() {
    admit()
    for id in links.keys.sorted() { links[id]?.strand() }
  }

  /// Waits until the traffic satisfies `condition`, and returns that traffic.
  public func traffic(
    reaches condition: @escaping @Sendable (Traffic) -> Bool
  ) async -> Traffic {
    if condition(traffic) { return traffic }
    return await withCheckedContinuation {
      waiting.append(Waiting(condition: condition, continuation: $0))
    }
  }

  /// Runs one turn of the loop: transfers available bytes and removes closed links.
  private func turn(_ ready: [Int32: Int16]) -> PollLoop.Plan {
    let now = ContinuousClock.now
    admit()
    for id in links.keys.sorted() {
      let outcome = links[id]?.turn(ready, at: now) { up, down in
        traffic.bytesUp += up
        traffic.bytesDown += down
      }
      if outcome == .closed { links[id] = nil }
    }
    for id in answered.keys.sorted() where answered[id]?.turn() == .closed { answered[id] = nil }
    traffic.open = links.count + answered.count
    resumeWaiting()
    return PollLoop.Plan(
      sockets: links.values.flatMap { $0.interests(at: now) } + listener.interests
        + answered.values.map(\.interest),
      deadline: links.values.compactMap { $0.deadline(after: now) }.min())
  }

  private func admit() {
    while let client = listener.next() {
      traffic.connections += 1
      guard fault != .reset, fault != .cut else {
        if fault == .reset { TCP.reset(client) } else { TCP.close(client) }
        continue
      }
      if case .answer(let bytes) = fault {
        answered[traffic.connections] = AnsweredLink(client, answer: bytes)
        continue
      }
      do throws(FaultProxyError) {
        let socket = try TCP.connecting(to: upstream)
        links[traffic.connections] = Link(client: client, upstream: socket, fault: fault)
      } catch {
        TCP.reset(client)
      }
    }
    traffic.open = links.count + answered.count
  }

  private func endAll() {
    for id in links.keys.sorted() {
      _ = fault == .reset ? links[id]?.reset() : links[id]?.close()
    }
    for link in answered.values { link.close() }
    (links, answered) = ([:], [:])
    traffic.open = 0
  }

  private func updateListener() throws(FaultProxyError) {
    switch fault {
    case .refuse: listener.shut()
    case .blackhole(let hole) where hole.connects == .hang: try listener.jam()
    case .pass, .cut, .reset, .blackhole, .delay, .rate, .cutAfter, .answer: try listener.open()
    }
  }

  private func resumeWaiting() {
    let traffic = traffic
    for waiter in waiting.takeAll(where: { $0.condition(traffic) }) {
      waiter.continuation.resume(returning: traffic)
    }
  }
}
