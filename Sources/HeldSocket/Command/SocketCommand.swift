import Holdfast
package import HoldfastCommandKit
import HoldfastCommandParts
import HoldfastCore
import HoldfastHeldSocket
import HoldfastProtocols

/// The command `holdfast socket`: holds a WebSocket that survives interruptions.
package enum SocketCommand {
  private static let url = Parameter.operand(
    .text("URL"), "the server: wss://HOST[:PORT]/PATH, or ws:// to this machine")
  private static let headers = Parameter.repeated(
    "header", Format<HTTPField>.header, isSecret: true,
    "send this header with every attempt; prefer HOLDFAST_SOCKET_HEADERS for secrets")
  private static let subprotocols = Parameter.repeated(
    "subprotocol", .text("NAME"), "offer this subprotocol; the first one is preferred")
  private static let hello = Parameter.optional(
    "hello", .text("TEXT"), isSecret: true,
    "send this text as the first message of every connection")
  private static let sendInput = Parameter.flag(
    "send-stdin", "send each line of standard input while connected; usual on a terminal")
  private static let once = Parameter.flag(
    "once",
    "make one connection: end with 0 when it ends, or with the status of the failure if it cannot "
      + "be made")

  package static var command: Command {
    Command(
      "socket", "hold a WebSocket to any server",
      details: [
        """
        Prints each text message as one line and goes on after every loss: after any close code, \
        503, refused connections and silence. It ends with 3 after 401, unless the token \
        command has another token, with 4 after 403, with 1 after 400, and with 5 if TLS fails. \
        \(LinkRun.details(onHangup: "tries again at once, and then with the first waits"))
        """,
        """
        Only messages go to standard output; states and notices go to standard error. In a line, \
        line breaks and control characters other than tabs are escaped, as in \\n or \\u{1B}. \
        Binary messages are reported, and printed only with --json, which also tells an \
        escape from the same characters in a message.
        """,
        """
        With --send-stdin, and on a terminal, lines of standard input are sent once and in order; \
        empty lines are skipped. A pipe is read only while there is a connection; a line that is \
        typed without one waits for it, with a notice. If a connection is lost, \
        a notice says how many of the last lines may not have arrived. The end of a pipe does not \
        end the command. A line has at most 1,000,000 bytes of UTF-8, a received message 16 MiB; \
        another one is dropped with a notice.
        """,
        """
        HOLDFAST_SOCKET_HEADERS holds headers like --header, one a line; only processes of the \
        same user can read it. The tokens of --token-command are sent as Authorization: Bearer.
        """,
        HeldSocket.Event.details,
      ],
      examples: [
        .init("holdfast socket wss://example.com/feed", "follow a feed"),
        .init(
          "holdfast socket wss://example.com/feed --hello '{\"subscribe\":\"news\"}' --json | jq",
          "subscribe on every connection"),
        .init(
          "make-lines | holdfast socket ws://127.0.0.1:9000 --send-stdin --set liveness.ping=10s",
          "send lines, with another policy; `policy show socket` lists the keys"),
      ],
      signals: LinkRun.signals,
      takes: url, headers, subprotocols, hello, Connection.tokenCommand, Connection.authorities,
      Connection.plaintext, Connection.proxy,
      Connection.policyFile, Shared.settings, Shared.journal, sendInput, once, Shared.json,
      action: run)
  }

  private static func run(_ call: Invocation) async throws(CommandFailure) {
    let address = try ServerAddress(
      call[url], schemes: ("wss", "ws"), option: "URL", allowsQuery: true,
      allowsPlaintext: call[Connection.plaintext])
    var policy = try Connection.policy(call, preset: .socket)
    if call[once] { policy = try waiting(policy) }
    let tokens = Connection.commandTokens(call, limit: policy.gate.refreshTimeout)
    var configuration = try configuration(call, address.url, policy)
    configuration.tokens = tokens?.source
    configuration.ports.network = try Connection.network(call, to: address)
    configuration.ports.reachability = PathPipe.named(by: call)
    let run = LinkRun(call)
    configuration.ports.lifecycle = run.lifecycle
    let socket = try await CommandFailure.opening { () throws(OpenError) in
      try await HeldSocket(configuration) { call.diagnostic($0.description) }
    }
    var ending = LinkEnding(isOnce: call[once], policy: policy)
    let failure = await run.show(
      socket, in: call.view(of: HeldSocket.Event.self, isMixed: false),
      stopped: call[once] ? .stopped("the connection had ended") : nil,
      input: Invocation.isTyped || call[sendInput] ? input(to: socket) : nil,
      close: { await socket.close() }
    ) {
      guard case .status(let status) = $0 else { return nil }
      return ending.end(after: status)
    }
    if let failure { throw await failure.explained(by: tokens) }
  }

  /// Returns the policy with a first wait of 1 s.
  ///
  /// `--once` ends the command during the first wait. Without a wait, a second attempt would
  /// immediately follow the first one.
  private static func waiting(_ policy: LinkPolicy) throws(CommandFailure) -> LinkPolicy {
    do throws(PolicyError) {
      return try policy.setting([("retry.first", "1s")])
    } catch {
      throw CommandFailure(.usage, error.description)
    }
  }

  private static func configuration(
    _ call: Invocation, _ url: String, _ policy: LinkPolicy
  ) throws(CommandFailure) -> SocketConfiguration {
    var configuration = SocketConfiguration(url, policy: policy)
    configuration.allowsPlaintext = call[Connection.plaintext]
    var headers = call[headers]
    for line in call.environment("HOLDFAST_SOCKET_HEADERS")?.split(separator: "\n") ?? [] {
      guard let header = ClientHandshake.field(String(line)) else {
        throw CommandFailure(
          .usage, "HOLDFAST_SOCKET_HEADERS is not valid", remedy: "write NAME: VALUE in each line")
      }
      headers.append(header)
    }
    guard
      call[Connection.tokenCommand] == nil
        || !headers.contains(where: { $0.name.lowercased() == "authorization" })
    else {
      throw CommandFailure(
        .usage, "--token-command and a header Authorization exclude each other",
        remedy: "remove one")
    }
    configuration.headers = { [headers] in headers.map { ($0.name, $0.value) } }
    let names = call[subprotocols]
    configuration.subprotocols = names
    for (index, name) in names.enumerated()
    where names[..<index].contains(name) || ClientHandshake.field("\(name):") == nil {
      throw CommandFailure(
        .usage, "--subprotocol \(name.printable) is not valid",
        remedy: "each is one word without separators, and is given once")
    }
    if let text = call[hello] { configuration.messages.hello = { _ in .text(text) } }
    // A line that was read just before a loss waits for the next connection.
    configuration.outbox = .waiting
    configuration.journal = call[Shared.journal]
    return configuration
  }

  private static func input(to socket: HeldSocket) -> InputSender {
    InputSender(
      longest: ProvenQueue.longest, fault: { _ in nil },
      hasRoom: {
        // The limits allow about one round trip of lines in flight, and at most half of the bytes
        // that may be queued.
        await socket.waitUntil {
          $0.isConnected && $0.queue.entries.count < 256
            && $0.queue.bytes < ProvenQueue.byteLimit / 2 || $0.isStopped
        }
        return !Task.isCancelled
      },
      delay: {
        await socket.snapshot.isConnected ? nil : "there is no connection"
      },
      send: { socket.enqueue($0) })
  }
}

extension Format<HTTPField> {
  /// The format for a header of the upgrade request.
  fileprivate static let header = Format(
    placeholder: "'NAME: VALUE'",
    expectation: "a header such as 'Origin: https://example.com' that the handshake does not set"
  ) {
    ClientHandshake.field($0)
  }
}
