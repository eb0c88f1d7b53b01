public import HoldfastCore
import HoldfastSessionData

/// The records of an audit, from which the findings are derived.
public struct AuditEvidence: Sendable {
  /// The record of each script that ran.
  public var records: [AuditScript.Name: AuditRecord] = [:]
  /// The responses to plain `GET` requests, by path.
  public var pages: [String: Page] = [:]
  /// Whether a key for authentication is available.
  public var hasKey: Bool
  /// Whether the URL of the server uses TLS.
  public var isEncrypted: Bool

  /// The response to a `GET` request.
  public struct Page: Sendable, Hashable {
    /// The status code; `nil` if there was no response.
    public var status: Int?
    /// The beginning of the body, or the reason why there is no body.
    public var excerpt: String
    /// Whether the body contains a sample in the text format of Prometheus.
    public var hasSamples: Bool
    /// The time from the request to the response.
    public var time: Duration

    static let excerptCharacters = 80

    /// Creates the record of a response or of a missing response.
    ///
    /// - Parameter text: The body, or the reason why there is no body.
    public init(status: Int?, text: String, time: Duration) {
      (self.status, self.time) = (status, time)
      excerpt = String(text.prefix(Self.excerptCharacters))
      hasSamples = Self.hasSamples(text)
    }

    /// Returns whether a text declares the type of a metric and has a line with a name and a
    /// number.
    private static func hasSamples(_ text: String) -> Bool {
      let lines = text.split(whereSeparator: \.isNewline)
      guard lines.contains(where: { $0.hasPrefix("# TYPE ") }) else { return false }
      return lines.contains { line in
        guard let end = line.lastIndex(of: " "), !line.hasPrefix("#") else { return false }
        return Double(line[line.index(after: end)...]) != nil
      }
    }
  }

  /// Creates evidence without records.
  public init(hasKey: Bool, isEncrypted: Bool) {
    (self.hasKey, self.isEncrypted) = (hasKey, isEncrypted)
  }

  /// Returns a report with a verdict on every practice.
  public func report(server: String) -> AuditReport {
    AuditReport(server: server) { finding($0) }
  }

  /// The failure that prevented the audit; `nil` if a connection was established.
  public var obstacle: LinkFailure? {
    var failure: LinkFailure?
    for event in AuditScript.Name.allCases.flatMap({ records[$0]?.events ?? [] }) {
      if case .opened = event.kind { return nil }
      if case .ended(let found) = event.kind { failure = failure ?? found }
    }
    return failure
  }

  /// Whether the server refused the key.
  public var isKeyRefused: Bool {
    guard let login = records[.login] else { return false }
    return login.first("auth_error") != nil && login.first("connected") == nil
  }

  /// Whether the server refused the answer to its own challenge but accepted the key.
  public var takesKeyAlone: Bool {
    guard let login = records[.login] else { return false }
    return login.first("connected", on: 0) == nil && login.first("connected", on: 1) != nil
  }
}

// MARK: Preconditions

extension AuditEvidence {
  /// Whether the server sent at least one message of the session protocol.
  var speaksSession: Bool {
    records.values.contains { record in
      record.messages().contains { Self.isSession($0.1) }
    }
  }

  /// Returns whether a message belongs to the session protocol.
  ///
  /// Other protocols may also have a `hello`, a `connected` or a `pong`, but with different
  /// contents.
  private static func isSession(_ message: AuditMessage) -> Bool {
    switch message.content {
    case .hello(let hello): hello.version != nil || hello.authVersion != nil
    case .connected(let connected): !connected.session.isEmpty
    case .authError: true
    case .pong, .ack, .response, .responsePart, .error, .replay, .turnComplete, .history,
      .historyBatch, .heartbeat, .draining, .sessionKilled, .unknown, nil:
      false
    }
  }

  /// Returns the record of a script that established a connection.
  func record(_ name: AuditScript.Name) throws(Finding) -> AuditRecord {
    guard let record = records[name] else {
      throw .unseen("the script \(name.rawValue) did not run")
    }
    let isOpen = record.first {
      if case .opened = $0.kind { true } else { false }
    }
    guard isOpen != nil else {
      throw .unseen("no connection: " + record.aftermath(of: 0))
    }
    return record
  }

  /// Returns the record of a script that authenticated successfully.
  func session(_ name: AuditScript.Name) throws(Finding) -> AuditRecord {
    try expectSession()
    guard hasKey else { throw .unseen("it needs a login, and no --key-file was given") }
    if isKeyRefused {
      throw .unseen("it needs a login, and the server refused the key with `auth_error`")
    }
    let record = try record(name)
    guard record.first("connected") != nil else {
      throw .unseen("`connected` did not come: " + record.outline)
    }
    return record
  }

  /// Throws an error unless the server speaks the session protocol. A server with another protocol
  /// may show the tested behavior in a way that the audit does not recognize.
  func expectSession(_ name: AuditScript.Name = .pings) throws(Finding) {
    guard !speaksSession else { return }
    let record = try record(name)
    throw .unseen(
      "the server does not speak the session protocol, and no other is tried: " + record.outline)
  }

  /// The first `hello`, with its record and its index in the record.
  var hello: (record: AuditRecord, at: Int, SessionHello)? {
    for name in [AuditScript.Name.opening, .pings, .login, .stranger] {
      guard let record = records[name] else { continue }
      for (index, message) in record.messages() {
        if case .hello(let hello) = message.content { return (record, index, hello) }
      }
    }
    return nil
  }
}

extension AuditRecord {
  /// A text that describes the record's first events.
  var outline: String { aftermath(of: 0, most: 6) }
}

extension AuditEvidence {
  /// Returns the finding for a probe.
  public func finding(_ probe: Probe) -> Finding {
    guard let check = Self.checks[probe] else { return .unseen("it was not looked for") }
    do throws(Finding) {
      return try check(self)
    } catch {
      return error
    }
  }

  typealias Check = @Sendable (AuditEvidence) throws(Finding) -> Finding

  /// The functions that derive the findings from the records, by probe.
  static let checks: [Probe: Check] = socketChecks.merging(deliveryChecks) { first, _ in first }
    .merging(limitChecks) { first, _ in first }

  private static let socketChecks: [Probe: Check] = [
    .applicationPing: { (it) throws(Finding) in try it.applicationPing() },
    .protocolPing: { (it) throws(Finding) in try it.protocolPing() },
    .roundTrips: { (it) throws(Finding) in try it.roundTrips() },
    .closing: { (it) throws(Finding) in try it.closing() },
    .compression: { (it) throws(Finding) in try it.compression() },
    .typed: { (it) throws(Finding) in try it.typed() },
    .naming: { (it) throws(Finding) in try it.naming() },
    .version: { (it) throws(Finding) in try it.version() },
    .oldVersion: { (it) throws(Finding) in try it.oldVersion() },
    .olderHistory: { (it) throws(Finding) in try it.olderHistory() },
    .early: { (it) throws(Finding) in try it.early() },
    .wrongKey: { (it) throws(Finding) in try it.wrongKey() },
    .missingKey: { (it) throws(Finding) in try it.refused(.missingKey, sent: "connect with no key")
    },
    .keyAgain: { (it) throws(Finding) in try it.keyAgain() },
    .challenge: { (it) throws(Finding) in try it.challengeOffered() },
    .challengeTaken: { (it) throws(Finding) in try it.challengeTaken() },
    .challengeOnce: { (it) throws(Finding) in try it.challengeOnce() },
  ]

  private static let deliveryChecks: [Probe: Check] = [
    .promptAck: { (it) throws(Finding) in try it.promptAck() },
    .promptRefused: { (it) throws(Finding) in try it.promptRefused() },
    .messageID: { (it) throws(Finding) in try it.messageID() },
    .ackQuiet: { (it) throws(Finding) in try it.ackQuiet() },
    .replay: { (it) throws(Finding) in try it.replayed() },
    .ackEnds: { (it) throws(Finding) in try it.ackEnds() },
    .order: { (it) throws(Finding) in try it.order() },
    .places: { (it) throws(Finding) in try it.places() },
    .sameKey: { (it) throws(Finding) in try it.sameKey() },
    .delta: { (it) throws(Finding) in try it.delta() },
    .batch: { (it) throws(Finding) in try it.batch() },
    .stamps: { (it) throws(Finding) in try it.stamps() },
  ]

  private static let limitChecks: [Probe: Check] = [
    .sizeTaken: { (it) throws(Finding) in try it.sizeTaken() },
    .truncation: { (it) throws(Finding) in try it.truncation() },
    .hugeFrame: { (it) throws(Finding) in try it.hugeFrame() },
    .bystander: { (it) throws(Finding) in try it.bystander() },
    .congestion: { (it) throws(Finding) in try it.congestion() },
    .malformed: { (it) throws(Finding) in try it.fault(0) },
    .untyped: { (it) throws(Finding) in try it.fault(1) },
    .unknownType: { (it) throws(Finding) in try it.fault(2) },
    .binary: { (it) throws(Finding) in try it.fault(3) },
    .distinctErrors: { (it) throws(Finding) in try it.distinctErrors() },
    .heartbeat: { (it) throws(Finding) in try it.heartbeat() },
    .silentClient: { (it) throws(Finding) in try it.silentClient() },
    .strangerClosed: { (it) throws(Finding) in try it.strangerClosed() },
    .takeover: { (it) throws(Finding) in try it.takeover() },
    .burst: { (it) throws(Finding) in try it.burst() },
    .health: { $0.page(["/healthz", "/health"]) },
    .metrics: { $0.metrics() },
    .announced: { (it) throws(Finding) in try it.announced() },
    .encrypted: { $0.isEncrypted ? .shown("the URL has TLS") : .missing("the URL has no TLS") },
  ]
}
