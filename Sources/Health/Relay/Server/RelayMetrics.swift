import HoldfastCore
import HoldfastHealth
import HoldfastJSON
public import HoldfastServerParts

/// The counters of the relay since its start.
struct RelayMetrics: Sendable, Hashable {
  /// The number of assistants' calls, by outcome.
  var asked: [String: UInt64] = [:]
  /// The number of pulls, by reply.
  var pulled: [String: UInt64] = [:]
  /// The number of pushes that ended, by outcome.
  var pushed: [String: UInt64] = [:]
  var pushesSent: UInt64 = 0
  /// The times of questions to phones, by outcome.
  private(set) var questions: [String: Histogram] = [:]
  /// The refused upgrades.
  var refusals = RefusalCounts()
  var opened: UInt64 = 0
  var resumed: UInt64 = 0
  var replaced: UInt64 = 0
  var refused: UInt64 = 0
  var silent: UInt64 = 0
  var slowReaders: UInt64 = 0
  var wrongPairs: UInt64 = 0
  /// The number of messages from phones that belong to no open question.
  var mismatches: UInt64 = 0
  var storeFailures: UInt64 = 0
  /// The number of questions that synced samples answered.
  var synced: UInt64 = 0

  /// Counts a question that has ended.
  mutating func ended(_ outcome: String, after time: Duration) {
    questions[outcome, default: Histogram(Histogram.questions)].add(time)
  }

  /// The refusals of the relay, of which the outcomes of calls are counted already.
  fileprivate var allRefusals: RefusalCounts {
    var all = refusals
    all.add(.wrongCode, wrongPairs)
    let outcomes: [(String, RefusalReason)] = [
      ("locked_out", .lockedOut), ("not_signed_in", .unauthorized),
      ("too_many_waiting", .ceiling(.calls)), ("store_failed", .store), ("stopping", .draining),
    ]
    for (outcome, reason) in outcomes { all.add(reason, asked[outcome] ?? 0) }
    return all
  }
}

extension RelayServer {
  /// The health of the service: whether it accepts work, and whether the last change was stored.
  public var serviceHealth: ServiceHealth {
    ServiceHealth(
      isServing: frame.isServing, storeFailure: writes.failure, of: Self.storeName)
  }

  public static var storeName: String { "the relay's store" }

  /// The body of `GET /relay/health`: the health, the connected phones, and the open questions.
  public var healthBytes: [UInt8] {
    var writer = JSONWriter(capacity: 100)
    writer.beginObject()
    serviceHealth.write(into: &writer)
    writer.entry("phones", sockets.count)
    writer.entry("questions", questions.count)
    writer.endObject()
    return writer.bytes
  }

  /// Adds the relay's metrics to the backend's page.
  public func report(to page: inout MetricsPage) {
    page.one("relay_phones", .gauge, "Connected phones.", UInt64(sockets.count))
    page.one("relay_phones_known", .gauge, "Phones, present or not.", UInt64(phones.count))
    page.one("relay_questions", .gauge, "Questions without an answer.", UInt64(questions.count))
    page.one("relay_accesses", .gauge, "Tokens that are remembered.", UInt64(tokens.count))
    page.counters("relay_calls", "Calls of assistants that ended.", by: "outcome", metrics.asked)
    page.counters("relay_pulls", "Pulls of phones.", by: "reply", metrics.pulled)
    page.histograms(
      "relay_question_seconds", "From a question to its outcome.", by: "outcome",
      metrics.questions.sorted { $0.key < $1.key })
    page.counters("relay_pushes", "Pushes that ended.", by: "outcome", metrics.pushed)
    page.counters(
      of: metrics,
      [
        ("relay_pushes_sent", "Pushes sent, whatever their outcome.", \.pushesSent),
        ("relay_opened", "Sockets accepted.", \.opened),
        ("relay_resumed", "Sockets that resumed a pairing.", \.resumed),
        ("relay_replaced", "Sockets replaced.", \.replaced),
        ("relay_refused", "Upgrades refused.", \.refused),
        ("relay_silent", "Sockets dropped for silence.", \.silent),
        ("relay_slow_readers", "Sockets cut for reading slowly.", \.slowReaders),
        ("relay_wrong_pairs", "Wrong pairs.", \.wrongPairs),
        ("relay_strays", "Messages to no open question.", \.mismatches),
        ("relay_store_failures", "Changes that could not be stored.", \.storeFailures),
        ("relay_synced_answers", "Questions that synced samples answered.", \.synced),
      ])
    page.refusals.add(metrics.allRefusals)
    page.use(of: .phones, sockets.count, of: policy.maxSockets)
    page.use(of: .addressPhones, sockets.mostOfAddress, of: policy.socketsPerAddress)
    page.use(of: .knownPhones, phones.count, of: policy.maxPhones)
    page.use(of: .calls, questions.count + tokens.waiting, of: policy.maxCalls)
  }
}

extension RelayOutcome {
  /// The name of the outcome in metrics and logs.
  public var name: String {
    switch self {
    case .loggedIn: "logged_in"
    case .renewed: "renewed"
    case .loggedOut: "logged_out"
    case .data(let object): object.succeeded ? "answered" : "answered_error"
    case .refused(let refusal): refusal.name
    }
  }
}

extension RelayRefusal {
  /// The name of the refusal for programs, metrics and logs. The first name is the one that the
  /// original app uses.
  public var name: String {
    switch self {
    case .wrongPair: "invalid_credentials"
    case .lockedOut: "locked_out"
    case .notSignedIn: "not_signed_in"
    case .tokenExpired: "token_expired"
    case .signedOut: "signed_out"
    case .phoneAway: "phone_away"
    case .phoneReplaced: "phone_replaced"
    case .timedOut: "timed_out"
    case .cancelled: "cancelled"
    case .tooManyWaiting: "too_many_waiting"
    case .malformed: "malformed_answer"
    case .answerTooLarge: "answer_too_large"
    case .storeFailed: "store_failed"
    case .stopping: "stopping"
    }
  }
}

extension RelayReply {
  /// The name of the reply in metrics.
  var name: String {
    switch self {
    case .leased: "leased"
    case .assistants: "assistants"
    case .taken: "taken"
    case .registered: "registered"
    case .synced: "synced"
    case .refused(let refusal): refusal.name
    }
  }
}

extension PullRefusal {
  /// The name of the refusal for programs and metrics.
  public var name: String {
    switch self {
    case .notSignedIn: "not_signed_in"
    case .unknownQuestion: "unknown_question"
    case .unknownAssistant: "unknown_assistant"
    case .leaseExpired: "lease_expired"
    case .notWanted: "not_wanted"
    case .malformed: "malformed"
    case .tooLarge: "too_large"
    case .storeFailed: "store_failed"
    case .busy: "busy"
    case .unknownSecret: "unknown_secret"
    case .lockedOut: "locked_out"
    }
  }
}
