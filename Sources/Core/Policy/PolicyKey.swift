/// One number of a policy: its key, what it means, and how it is read and written as text.
///
/// The table of keys is the one form in which policies leave the program: `policy show`, `--set`,
/// and `Codable` all use it.
public struct PolicyKey: Sendable {
  /// The part and the number, such as `retry.first`.
  public let name: String
  /// One line for people, with what a special value means.
  public let meaning: String
  /// The range of the numbers in its value, for errors; `nil` without numbers, and where the
  /// meaning says it.
  var range: String?
  /// Its value as text; `nil` where this kind of policy has no such number.
  let read: @Sendable (PolicyDraft) -> String?
  /// Puts a value in; false when the text is no such value.
  let write: @Sendable (inout PolicyDraft, String) -> Bool

  /// Every key, in the order of tables.
  public static let all: [PolicyKey] =
    retryKeys + gateKeys + establishKeys + livenessKeys + standbyKeys + failureKeys
}

/// A policy in parts that were not checked together yet.
struct PolicyDraft: Sendable {
  var name: String
  var retry: RetryPolicy
  var gate: GatePolicy
  var liveness: LivenessPolicy
  var establish: EstablishPolicy
  var standby: StandbyPolicy
  var verdicts: [FailureClass: Verdict]
  let holdsLink: Bool

  init(_ policy: LinkPolicy) {
    name = policy.name
    retry = policy.retry
    gate = policy.gate
    liveness = policy.liveness
    establish = policy.establish
    standby = policy.standby
    verdicts = policy.verdicts
    holdsLink = policy.holdsLink
  }

  func checked() throws(PolicyError) -> LinkPolicy {
    try LinkPolicy(
      name: name, retry: retry, gate: gate, liveness: liveness, establish: establish,
      standby: standby, verdicts: verdicts, holdsLink: holdsLink)
  }

  /// Returns a value as text; `nil` where this kind of policy has no such number.
  func value(of key: PolicyKey) -> String? {
    holdsLink || key.name.hasPrefix("retry.") ? key.read(self) : nil
  }
}

extension LinkPolicy {
  /// Every number of this policy by its key, in the order of tables.
  public var values: [(key: String, value: String)] {
    let draft = PolicyDraft(self)
    return PolicyKey.all.compactMap { key in draft.value(of: key).map { (key.name, $0) } }
  }

  /// This policy with other numbers.
  ///
  /// - Parameter changes: keys and values as `values` writes them; all are applied, then checked.
  /// - Throws: one error with every unknown key, unreadable value and broken rule.
  public func setting(_ changes: [(key: String, value: String)]) throws(PolicyError) -> LinkPolicy {
    var draft = PolicyDraft(self)
    var problems: [String] = []
    for change in changes {
      guard let key = PolicyKey.all.first(where: { $0.name == change.key }) else {
        problems.append("\(change.key) is no key of a policy; see `holdfast policy show \(name)`")
        continue
      }
      guard draft.value(of: key) != nil else {
        problems.append("\(change.key) has no meaning for \(name)")
        continue
      }
      if !key.write(&draft, change.value) {
        let range = key.range.map { "; its range is \($0)" } ?? ""
        problems.append(
          "\(change.key) cannot be \"\(change.value)\"; it is \(key.meaning)\(range)")
      }
    }
    guard problems.isEmpty else { throw PolicyError(problems: problems) }
    return try draft.checked()
  }
}

/// A way to one value of a whole: it calls a function with that value, and returns its result.
///
/// Stands where a key path would, which Embedded Swift does not have.
typealias Place<Whole, Value> = @Sendable (inout Whole, (inout Value) -> Value) -> Value

extension PolicyKey {
  /// Returns the value at a place.
  static func read<Whole, Value>(_ whole: Whole, _ place: Place<Whole, Value>) -> Value {
    var copy = whole
    return place(&copy) { $0 }
  }

  /// Puts a value in a place; always true.
  @discardableResult static func write<Whole, Value>(
    _ value: Value, to whole: inout Whole, _ place: Place<Whole, Value>
  ) -> Bool {
    _ = place(&whole) {
      $0 = value
      return value
    }
    return true
  }

  /// A key for a plain duration.
  static func duration(
    _ name: String, _ meaning: String,
    _ place: @escaping Place<PolicyDraft, Duration>
  ) -> PolicyKey {
    PolicyKey(
      name: name, meaning: meaning + " (a duration such as 250ms, 30s, 15m)",
      range: Duration.written.text
    ) {
      read($0, place).text
    } write: { draft, text in
      guard let value = Duration(text: text) else { return false }
      return write(value, to: &draft, place)
    }
  }

  /// A key for a duration that may be absent, written `off`.
  static func optional(
    _ name: String, _ meaning: String,
    _ place: @escaping Place<PolicyDraft, Duration?>
  ) -> PolicyKey {
    PolicyKey(name: name, meaning: meaning + " (a duration, or off)", range: Duration.written.text)
    {
      read($0, place)?.text ?? "off"
    } write: { draft, text in
      guard text != "off" else {
        return write(nil, to: &draft, place)
      }
      guard let value = Duration(text: text) else { return false }
      return write(value, to: &draft, place)
    }
  }

  /// A key for a number of things; its meaning names the range.
  static func count(
    _ name: String, _ meaning: String, _ place: @escaping Place<PolicyDraft, Int>
  ) -> PolicyKey {
    PolicyKey(name: name, meaning: meaning) {
      String(read($0, place))
    } write: { draft, text in
      guard let value = WrittenNumber.count(text) else { return false }
      return write(value, to: &draft, place)
    }
  }

  /// A key for one of a few words.
  static func word<Word: RawRepresentable<String> & CaseIterable & SendableMetatype>(
    _ name: String, _ meaning: String,
    _ place: @escaping Place<PolicyDraft, Word>
  ) -> PolicyKey {
    let words = Word.allCases.map { $0.rawValue }.joined(separator: ", ")
    return PolicyKey(name: name, meaning: "\(meaning) (one of \(words))") {
      read($0, place).rawValue
    } write: { draft, text in
      guard let value = Word(rawValue: text) else { return false }
      return write(value, to: &draft, place)
    }
  }

  /// A key for a schedule.
  static func schedule(
    _ name: String, _ meaning: String,
    _ place: @escaping Place<PolicyDraft, Schedule>
  ) -> PolicyKey {
    let forms = "a list such as 0s,1s,2s, or 1s*2 max 30s +-0.25 min 1s x20"
    return PolicyKey(name: name, meaning: "\(meaning) (\(forms))", range: Schedule.form) {
      read($0, place).text
    } write: { draft, text in
      guard let value = Schedule(text: text) else { return false }
      return write(value, to: &draft, place)
    }
  }
}
