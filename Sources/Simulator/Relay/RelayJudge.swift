public import LinkCore
import LinkHealth
import LinkServerCore
import LinkWire

/// A promise of the relay that was broken.
public struct RelayFinding: Sendable, Hashable, Codable {
  /// Which promise: what tables and `--json` call it.
  public enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
    /// A question had neither an answer nor an honest error within its deadline.
    case unanswered
    /// A question had more than one outcome.
    case doubled
    /// Somebody was told something after they had left.
    case afterLeaving
    /// An answer went to the wrong asker, or answers another question.
    case wrongAnswer
    /// A refusal whose reason is not true.
    case dishonest
    /// The backend keeps a question that nobody waits for.
    case kept
    /// Running was shown where nothing could pass, for longer than the policy allows.
    case falselyRunning
    /// A deadline came and did not move.
    case stuck
    /// In calm a question was not answered with data.
    case unhealed
  }

  /// Which promise was broken.
  public var kind: Kind
  /// When, on the clock of the world.
  public var at: Instant
  /// For people: what was expected and what was seen.
  public var detail: String
}

/// Knows who asked what and who may know what, and finds what should not be.
struct RelayJudge {
  private(set) var findings: [RelayFinding] = []
  private var open: [AskID: Question] = [:]
  private var closed: Set<AskID> = []
  private var left: Set<AskID> = []
  /// What each token lets its holder ask, and since when.
  private var grants: [Int: Grant] = [:]
  /// When a phone was last of such a kind that its pairings may have ended.
  private var unpairedAt: [Int: Instant] = [:]

  /// What an assistant waits for.
  struct Question {
    var at: Instant
    /// The token and the number of the question; `nil` for logins and logouts.
    var asked: (token: Int?, number: Int)?
  }

  private struct Grant {
    var phone: Int
    var since: Instant
    /// Its holder wants to end it; nothing may be asked with it once that is confirmed.
    var isEnding = false
    var isOver = false
  }

  /// What an answer may take on its way in and out of the backend, beside the deadline.
  private static let slack = Duration.seconds(5)

  mutating func find(_ kind: RelayFinding.Kind, _ now: Instant, _ detail: @autoclosure () -> String)
  {
    if findings.count < Findings.limit {
      findings.append(RelayFinding(kind: kind, at: now, detail: detail()))
    }
  }

  mutating func asked(_ ask: AskID, token: Int?, number: Int?, at now: Instant) {
    open[ask] = Question(at: now, asked: number.map { (token, $0) })
  }

  mutating func left(_ ask: AskID) {
    open[ask] = nil
    left.insert(ask)
  }

  /// The backend's process ended: who waited hears that the connection broke.
  mutating func cut() {
    closed.formUnion(open.keys)
    open = [:]
  }

  mutating func granted(_ token: Int, phone: Int, at now: Instant) {
    grants[token] = Grant(phone: phone, since: now)
  }

  mutating func logsOut(_ token: Int) { grants[token]?.isEnding = true }
  mutating func loggedOut(_ token: Int) { grants[token]?.isOver = true }

  /// The phone began anew, or was away for too long: its pairings may be over.
  mutating func unpaired(_ phone: Int, at now: Instant) { unpairedAt[phone] = now }

  mutating func told(_ ask: AskID, _ outcome: RelayOutcome, at now: Instant) {
    if left.contains(ask) {
      return find(.afterLeaving, now, "\(ask) was told an outcome after it had left")
    }
    guard let question = open.removeValue(forKey: ask) else {
      return find(.doubled, now, "\(ask) was told a second outcome")
    }
    closed.insert(ask)
    let time = question.at.duration(to: now)
    if time > RelayServerPolicy().callLimit + Self.slack {
      find(.unanswered, now, "\(ask) was answered after \(time)")
    }
    guard let (token, number) = question.asked else { return }
    switch outcome {
    case .data(let object): check(object, of: number, token, now)
    case .refused(let reason): check(reason, token, now)
    case .loggedIn, .loggedOut: find(.wrongAnswer, now, "\(ask) asked no such thing")
    }
  }

  private mutating func check(
    _ object: HealthObject, of number: Int, _ token: Int?, _ now: Instant
  ) {
    guard object.succeeded else { return }
    guard let grant = token.flatMap({ grants[$0] }), !grant.isOver else {
      return find(.wrongAnswer, now, "data went to somebody who is not signed in")
    }
    let expected = HealthObject.answer(of: grant.phone, to: number)
    if object != expected {
      find(.wrongAnswer, now, "question \(number) to phone \(grant.phone) got another's answer")
    }
  }

  private mutating func check(_ reason: RelayRefusal, _ token: Int?, _ now: Instant) {
    guard let grant = token.flatMap({ grants[$0] }), !grant.isEnding,
      grant.since.duration(to: now) < RelayServerPolicy().tokenLife - .seconds(10)
    else { return }
    switch reason {
    case .notSignedIn, .tokenExpired:
      find(.dishonest, now, "\(reason) to somebody who is signed in")
    case .phoneReplaced, .phoneAway(_, .pairAgain):
      if unpairedAt[grant.phone].map({ $0 < grant.since }) ?? true {
        find(.dishonest, now, "phone \(grant.phone) kept its pairing: \(reason)")
      }
    case .wrongPair, .lockedOut, .phoneAway, .timedOut, .cancelled, .tooManyWaiting, .malformed,
      .answerTooLarge, .storeFailed, .stopping:
      return
    }
  }

  /// What the backend keeps while its process runs.
  mutating func keeps(_ questions: [KeptQuestion], wall: Timestamp, _ now: Instant) {
    for kept in questions where kept.deadline.advanced(by: .seconds(1)) < wall {
      find(.kept, now, "question \(kept.id) is kept after its deadline")
    }
  }

  /// The run is over.
  mutating func conclude(at now: Instant) {
    let limit = RelayServerPolicy().callLimit + Self.slack
    for (ask, question) in open.sorted(by: { $0.key < $1.key })
    where question.at.advanced(by: limit) < now {
      find(.unanswered, now, "\(ask) never had an outcome")
    }
  }
}

extension HealthObject {
  /// What a phone of the world answers to a question: it shows whose it is.
  static func answer(of phone: Int, to number: Int) -> HealthObject {
    HealthObject(
      succeeded: true,
      bytes: Array(#"{"success":true,"phone":\#(phone),"question":\#(number)}"#.utf8))
  }
}
