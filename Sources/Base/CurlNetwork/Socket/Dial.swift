import CHoldfastCurl
import HoldfastCore
import HoldfastPorts
import HoldfastProtocols
import HoldfastSocketEngine

/// A dial, and the connected stream that results from it. Releasing the dial closes the stream.
final class Dial: SocketStream {
  let easy: Easy
  let transfers: Transfers
  let handshake: ClientHandshake
  private let poller: Poller
  private let buffer: Buffer
  private let number: UInt64
  private let address: Address
  private var descriptor: Int32?
  /// The time at which the dial began; `nil` if nobody receives notes about it.
  private let begunAt: Instant?
  /// The time from the beginning until the peer was connected. libcurl reports it only after TLS.
  private var reachedAfter: Duration?

  init(
    _ request: SocketRequest, _ context: Context, configuration: CurlConfiguration
  ) throws(LinkFailure) {
    address = try Address(request.url, query: request.query, schemes: ["ws": false, "wss": true])
    try address.demandPrivacy(configuration)
    handshake = try ClientHandshake(
      request, authority: address.authority, target: address.target,
      offersDeflate: configuration.offersDeflate)
    guard let easy = Easy(), let transfers = context.transfers() else {
      throw .local(detail: "libcurl could not be set up.")
    }
    (self.easy, self.transfers, poller) = (easy, transfers, context.poller)
    (buffer, number) = (context.buffer, context.number)
    begunAt = request.note == nil ? nil : BootClock().now
    easy.prepareDial(address, configuration, share: context.share, timeout: request.openTimeout)
    guard easy.refusal == CURLE_OK else {
      throw .local(detail: "libcurl lacks an option (\(easy.refusal.rawValue)).")
    }
    guard transfers.add(easy, as: context.number) else {
      throw .local(detail: "libcurl did not accept the dial.")
    }
  }

  deinit {
    if let descriptor { poller.forget(descriptor) }
    transfers.remove(easy)
  }

  /// Watches the connected stream. Returns the failure if it cannot be watched.
  func becomeReady() -> LinkFailure? {
    // While other dials are in progress, libcurl closes a stream that ended before any byte was
    // sent.
    guard let descriptor = easy.descriptor else { return .ended }
    self.descriptor = descriptor
    guard poller.watchChanges(of: descriptor, for: .socket(number)) else {
      return Outcome.unwatched
    }
    return nil
  }

  /// The URL of the dial, with the HTTP scheme.
  var url: String { address.url }

  var dialPhase: LinkFailure.Phase { easy.dialPhase }

  var phases: ConnectionNote.Opening? {
    var opening = easy.dialPhases
    if opening.connect == nil, let resolve = opening.resolve, let reachedAfter {
      opening.connect = max(reachedAfter - resolve, .zero)
    }
    return opening
  }

  /// Notes when the peer is connected, for a journal. The owner calls it after each turn.
  func noteProgress(at now: Instant) {
    guard let begunAt, reachedAfter == nil, easy.hasPeer else { return }
    reachedAfter = begunAt.duration(to: now)
  }

  /// The result is always zero, because the system has accepted all bytes that libcurl has.
  var pendingBytes: Int { 0 }

  func write(_ bytes: ArraySlice<UInt8>) -> StreamWriting {
    switch easy.send(bytes) {
    case .bytes(let count): .bytes(count)
    case .wouldBlock, .ended: .wouldBlock
    case .failed(let code): .failed(outcome(code, phase: .write).failure)
    }
  }

  func read(_ take: (RawSpan) -> Void) -> StreamReading {
    switch easy.receive(into: buffer) {
    case .bytes(let count):
      let received = unsafe UnsafeRawBufferPointer(rebasing: buffer.bytes[..<count])
      unsafe take(received.bytes)
      return .bytes
    case .wouldBlock: return .wouldBlock
    case .ended: return .ended
    case .failed(let code): return .failed(outcome(code, phase: .silence).failure)
    }
  }

  /// Returns the failure of a dial that has ended with `result`; `nil` if it has succeeded.
  func failure(_ result: CURLcode) -> LinkFailure? {
    result == CURLE_OK ? nil : outcome(result, phase: dialPhase).failure
  }

  private func outcome(_ code: CURLcode, phase: LinkFailure.Phase) -> Outcome {
    easy.outcome(code, phase: phase, host: address.host)
  }
}

extension Dial {
  /// The objects that a dial shares with other dials, and the dial's number.
  struct Context {
    let number: UInt64
    let share: Share
    let poller: Poller
    let buffer: Buffer
    let transfers: () -> Transfers?
  }
}
