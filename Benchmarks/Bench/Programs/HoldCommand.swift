import CommandKit
import CurlNetwork
import LinkRuntime

/// `holdfast-bench hold`: a phone's sockets in a process that did nothing before, so that what they
/// take is not found in memory that something else gave back.
enum HoldCommand {
  private static let server = Parameter<String>.operand(.text("URL"), "where to connect")
  private static let count = Parameter<Int>.operand(.integer("COUNT", 1...100_000), "how often")
  private static let authorities = Parameter<String?>.optional(
    "authorities", .text("FILE"), "a PEM file of authorities to trust")

  static var command: Command {
    Command(
      "hold", "open sockets and tell how many bytes each of them takes",
      examples: [.init("holdfast-bench hold ws://127.0.0.1:9001/ 500", "500 of them")],
      takes: server, count, authorities, action: run)
  }

  private static func run(_ call: Invocation) async throws(CommandFailure) {
    Usage.raiseDescriptorLimit()
    do {
      let network = try CurlNetwork(
        CurlConfiguration(authorities: call[authorities], proxy: "", offersDeflate: false))
      var kept: [any SocketHandle] = []
      for _ in 0..<20 { kept.append(try await network.opened(call[server])) }
      let before = try Usage.memory()
      for _ in 0..<call[count] { kept.append(try await network.opened(call[server])) }
      let taken = try Usage.memory() - before
      // They are held until here.
      call.console.line("\(taken / Double(kept.count - 20))")
    } catch {
      throw CommandFailure(.failed, "cannot hold: \(error)")
    }
  }
}

extension CurlNetwork {
  /// A socket that is open, and whose messages go nowhere.
  func opened(_ url: String) async throws -> any SocketHandle {
    let request = SocketRequest(url: url, openTimeout: .seconds(10), maxMessageBytes: 65_536)
    let (events, sink) = AsyncStream<Void>.makeStream()
    let socket = await openInTurns(request) { turn in
      for event in turn {
        if case .opened = event { sink.yield() }
        if case .failed = event { sink.finish() }
      }
    }
    for await _ in events { return socket }
    throw Unavailable("a socket did not open")
  }
}
