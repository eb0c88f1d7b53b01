import HoldfastCommandKit
import HoldfastCurlNetwork
import HoldfastPorts
import Synchronization

#if HOLDFAST_STANDINS
  import HoldfastAppleNetwork
#endif

/// The command `HoldfastBench echo-client`, which runs a phone's sockets against Autobahn's server.
enum EchoClientCommand {
  private static let server = Parameter<String>.operand(
    .text("URL"), "the suite's server, such as ws://127.0.0.1:9002")
  private static let agent = Parameter<String>.option(
    "agent", .text("NAME"), default: "holdfast", "how the report calls us")
  private static let deflate = Parameter<Bool>.flag("deflate", "offer permessage-deflate")
  private static let network = Parameter<Bool>.flag(
    "network", "dial with NWConnection's stand-in, which only a strict build has")

  static var command: Command {
    Command(
      "echo-client", "go through every case of a suite's server",
      examples: [.init("HoldfastBench echo-client ws://127.0.0.1:9002", "all its cases")],
      takes: server, agent, deflate, network, action: run)
  }

  private static func run(_ call: Invocation) async throws(CommandFailure) {
    let dialer = try dialer(deflate: call[deflate], network: call[network])
    let suite = Suite(dialer: dialer, url: call[server], agent: call[agent])
    guard let count = await suite.count() else {
      throw CommandFailure(.unreachable, "\(call[server]) did not say how many cases it has")
    }
    for number in 1...max(count, 1) { await suite.play(number) }
    await suite.report()
    call.console.line("\(count) cases")
  }

  private static func dialer(
    deflate: Bool, network: Bool
  ) throws(CommandFailure) -> any SocketDialer {
    let (bytes, fragments) = (4 * Echo.maxMessageBytes, Echo.maxFragments)
    guard !network else {
      #if HOLDFAST_STANDINS
        return NetworkDial(
          NetworkConfiguration(
            maxQueuedBytes: bytes, maxFragments: fragments, offersDeflate: deflate))
      #else
        throw CommandFailure(.failed, "this build has no stand-in; set HOLDFAST_STRICT=1 and build")
      #endif
    }
    do {
      return try CurlNetwork(
        CurlConfiguration(
          proxy: "", maxQueuedBytes: bytes, maxFragments: fragments, offersDeflate: deflate))
    } catch {
      throw CommandFailure(.failed, "the network cannot start: \(error)")
    }
  }
}

/// A client of the test suite's server. It follows the suite's protocol.
private struct Suite {
  let dialer: any SocketDialer
  let url: String
  let agent: String

  func count() async -> Int? {
    let count = Mutex<Int?>(nil)
    await converse("/getCaseCount", query: []) { event, _ in
      guard case .text(let bytes) = event else { return }
      count.withLock { $0 = Int(String(decoding: bytes, as: UTF8.self)) }
    }
    return count.withLock { $0 }
  }

  func play(_ number: Int) async {
    await converse("/runCase", query: [("case", "\(number)"), ("agent", agent)]) { event, socket in
      switch event {
      case .text(let bytes): await socket.send(text: bytes)
      case .binary(let bytes): await socket.send(binary: bytes)
      case .opened, .ping, .pong, .stalled, .oversized, .failed: break
      }
    }
  }

  func report() async {
    await converse("/updateReports", query: [("agent", agent)]) { _, _ in }
  }

  /// Opens a socket, and handles its events one at a time until the socket has ended.
  private func converse(
    _ path: String, query: [(name: String, value: String)],
    answer: @escaping @Sendable (SocketEvent, any SocketHandle) async -> Void
  ) async {
    let (handles, gave) = AsyncStream<any SocketHandle>.makeStream()
    let (ends, ended) = AsyncStream<Never>.makeStream()
    let given = Given(handles)
    let request = SocketRequest(
      url: url + path, query: query, openTimeout: .seconds(10),
      maxMessageBytes: Echo.maxMessageBytes)
    let socket = await dialer.open(request) { event in
      if let socket = await given.value { await answer(event, socket) }
      if case .failed = event { ended.finish() }
    }
    gave.yield(socket)
    for await _ in ends {}
    // The suite records a case when its connection has ended.
    await socket.close(code: 1000, reason: "")
  }
}

/// A socket whose handle may become available shortly after the first events.
private actor Given {
  private var handles: AsyncStream<any SocketHandle>
  private var handle: (any SocketHandle)?

  init(_ handles: AsyncStream<any SocketHandle>) {
    self.handles = handles
  }

  var value: (any SocketHandle)? {
    get async {
      if handle == nil { for await first in handles { handle = first; break } }
      return handle
    }
  }
}
