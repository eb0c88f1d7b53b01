import HoldfastCore
import HoldfastPorts
import HoldfastSessionAudit

/// A driver of one script. It opens connections, passes their events to the script, and performs
/// the script's effects.
actor ScriptDriver {
  private let network: any SocketDialer
  private let url: String
  private let clock = BootClock()
  private var run: ScriptRun
  private var sockets: [Int: any SocketHandle] = [:]
  private var pending: [ScriptRun.Effect] = []
  private var isWorking = false
  private var timer: Task<Void, Never>?
  private var pings: UInt64 = 0
  private var waiter: CheckedContinuation<Void, Never>?

  /// The time limit for the server's response to the upgrade.
  private static let openTimeout = Duration.seconds(5)
  /// The maximum size of a message, in bytes. Messages of sessions are smaller.
  private static let maxMessageBytes = 4 << 20

  init(_ script: AuditScript, key: AuditKey?, url: String, network: any SocketDialer) {
    (self.network, self.url) = (network, url)
    run = ScriptRun(script, key: key, at: clock.now, wall: clock.wall)
  }

  /// Plays the script until it ends or the task is cancelled.
  func play() async -> AuditRecord {
    pending += run.begin(at: clock.now)
    await work()
    await withTaskCancellationHandler {
      guard !run.isOver else { return }
      await withCheckedContinuation { waiter = $0 }
    } onCancel: {
      Task { await self.cancel() }
    }
    timer?.cancel()
    sockets = [:]
    return run.record
  }

  private func cancel() async {
    pending += run.stop(isComplete: false)
    await work()
  }

  private func tick() async {
    pending += run.tick(at: clock.now)
    await work()
  }

  private func take(_ event: SocketEvent, from socket: Int) async {
    guard let input = Self.input(event, from: socket) else { return }
    pending += run.handle(input, at: clock.now)
    await work()
    await noteCompression(of: socket)
  }

  /// Records the number of messages that arrived compressed on an open connection.
  private func noteCompression(of socket: Int) async {
    guard let handle = sockets[socket] as? any RawSocketHandle else { return }
    run.note(compressed: await handle.takeCompressedMessages(), on: socket)
  }

  private static func input(_ event: SocketEvent, from socket: Int) -> ScriptRun.Input? {
    switch event {
    case .opened(let headers): .opened(socket, headers: headers)
    case .text(let bytes): .text(socket, bytes)
    case .binary(let bytes): .binary(socket, bytes: bytes.count)
    case .oversized(let bytes): .binary(socket, bytes: Int(clamping: bytes))
    case .ping: .ping(socket)
    case .pong: .pong(socket)
    case .stalled: nil
    case .failed(let failure): .ended(socket, failure)
    }
  }

  /// Performs the pending effects one after another, in the order of the script.
  private func work() async {
    guard !isWorking else { return }
    isWorking = true
    while !pending.isEmpty { await perform(pending.removeFirst()) }
    isWorking = false
    timer?.cancel()
    timer = nil
    if run.isOver {
      waiter?.resume()
      waiter = nil
    } else if let deadline = run.deadline {
      timer = Task { [clock] in
        guard (try? await clock.wait(until: deadline)) != nil else { return }
        await self.tick()
      }
    }
  }

  private func perform(_ effect: ScriptRun.Effect) async {
    switch effect {
    case .open(let number):
      let request = SocketRequest(
        url: url, openTimeout: Self.openTimeout, maxMessageBytes: Self.maxMessageBytes)
      sockets[number] = await network.open(request) { [weak self] event in
        await self?.take(event, from: number)
      }
    case .send(let number, let text): await sockets[number]?.send(text: text)
    case .sendBinary(let number, let bytes): await sockets[number]?.send(binary: bytes)
    case .sendRaw(let number, let bytes):
      await (sockets[number] as? any RawSocketHandle)?.send(raw: bytes)
    case .ping(let number):
      pings += 1
      await sockets[number]?.ping(id: pings)
    case .drop(let number):
      await noteCompression(of: number)
      sockets[number] = nil
    }
  }
}
