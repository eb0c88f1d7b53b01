import Holdfast
package import HoldfastCommandKit
import HoldfastCommandParts
import HoldfastCore
import HoldfastKeyedHashing
import HoldfastSessionAudit

/// The command `holdfast audit`: reviews 40 practices of WebSockets as a client of any server.
package enum AuditCommand {
  private static let url = Parameter.operand(
    .text("URL"), "the socket: ws://, wss://, http:// or https://, with its path")
  private static let keyFile = Parameter.optional(
    "key-file", .text("FILE"),
    "authenticate with the key in this file; without one, what needs a "
      + "login is reported as unseen")
  private static let markdown = Parameter.flag("markdown", "print a review in Markdown")

  package static var command: Command {
    Command(
      "audit", "review a WebSocket server against 40 practices",
      details: [
        """
        Acts as a client of a server that speaks the session protocol, or of any WebSocket server, \
        and reports for each practice: met, partly, not, or unseen (not visible from outside), \
        with what was sent, what came back and how long it took. A verdict is about the server's \
        part; what only a client does is unseen, and so is what a server may do in a protocol of \
        its own. It takes about a minute, and at most 90 s.
        """,
        """
        With --key-file it sends five short prompts ("audit: …"), one of them twice, two prompts of \
        60 kB and eight of 20 kB, which the program behind the server answers. Opens at most 20 \
        connections at once, and sends keys that are wrong and messages that are not valid.
        """,
        """
        With --json there is one object for each practice: event "practice", number (1 to 40), \
        title, verdict (met|partly|not|unseen) and evidence; then event "summary" with met, \
        partly, not, unseen and categories (title, met, partly, not, unseen). The exit status is 0 \
        if the audit ran to its end, whatever it found.
        """,
      ],
      examples: [
        .init(
          "holdfast audit ws://127.0.0.1:8787/session --key-file session.key",
          "review a session server on this machine"),
        .init(
          "holdfast audit wss://example.com/feed --markdown > review.md",
          "review any other server, as far as it can be seen without a login"),
      ],
      takes: url, keyFile, Connection.authorities, Connection.plaintext, Connection.proxy, markdown,
      Shared.json, action: run)
  }

  private static func run(_ call: Invocation) async throws(CommandFailure) {
    guard !call[markdown] || !call[Shared.json] else {
      throw CommandFailure(
        .usage, "--json and --markdown exclude each other", remedy: "remove one")
    }
    let address = try ServerAddress.socket(
      call[url], option: "URL", allowsPlaintext: call[Connection.plaintext])
    let key = try key(call)
    let audit = AuditRun(
      url: address.url, origin: origin(of: address.url), key: key,
      network: try Connection.network(call, to: address),
      progress: { done, all in
        guard !call[Shared.json] else { return }
        call.diagnostic("\(done) of \(all) scripts are over")
      })
    let evidence = try await CommandSignals.cancelling(
      onSecondStop: { CommandSignals.abandon(call.command) },
      {
        () async throws(CommandFailure) in
        let evidence = await audit.evidence(generator: RandomSource(seed: .random(in: 0 ... .max)))
        guard !Task.isCancelled else { throw .stopped("the audit was complete") }
        return evidence
      })
    if let failure = evidence.obstacle { throw CommandFailure(failure) }
    if evidence.isKeyRefused {
      call.diagnostic("the server refused the key: what needs a login is unseen; check --key-file")
    }
    let report = evidence.report(server: address.url)
    AuditText.print(
      report, as: call[Shared.json] ? .json : call[markdown] ? .markdown : .text, call)
  }

  /// Returns the URL of the server without a path.
  private static func origin(of url: String) -> String {
    let parts = url.split(separator: "://", maxSplits: 1)
    let authority = parts.last?.prefix { !"/?".contains($0) } ?? ""
    return (parts.first == "wss" ? "https://" : "http://") + authority
  }

  private static func key(_ call: Invocation) throws(CommandFailure) -> AuditKey? {
    guard let path = call[keyFile] else { return nil }
    let key = try TokenText.read(path, within: .seconds(10))
    return AuditKey(key: Secret(key)) {
      Hex.text(of: KeyedHash.sha256(key: Array(key.utf8), over: Array($0.utf8)))
    }
  }
}
