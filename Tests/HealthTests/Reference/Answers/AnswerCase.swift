import HoldfastCore
import HoldfastHealth
import HoldfastHealthSamples

/// A question, with everything that its answer depends on.
struct AnswerCase {
  var question: HealthQuestion
  var scenario: AnswerScenario
  var limits: AnswerLimits
  var stored: StoredHealth
  var store: ReferenceStore
  /// Whether the question is answered with the default limits and without `stored`.
  var isPlain = false
  /// The number of the read that fails, counted from 1; 0 if none fails.
  var failing = 0

  var reference: ReferenceAnswers {
    ReferenceAnswers(scenario.zone, at: scenario.now, limits, stored, store)
  }

  private var answering: HealthAnswering {
    guard !isPlain else {
      return HealthAnswering(
        question, zone: scenario.zone, now: scenario.now, limits: AnswerLimits(isExact: true))
    }
    return HealthAnswering(
      question, zone: scenario.zone, now: scenario.now, limits: limits, stored: stored)
  }

  /// Returns the outcome of the reference implementation.
  func expected() -> AnswerOutcome {
    var reference = reference
    reference.failing = failing
    let text = reference.answer(question)
    return AnswerOutcome(
      text: text, succeeded: text.hasPrefix("{\"success\":true"), points: reference.points,
      isCut: reference.isCut, reads: reference.reads,
      hasTooManyGroups: reference.hasTooManyGroups)
  }

  /// Returns the outcome of `HealthAnswering`, or `nil` if it does not finish.
  func found() -> AnswerOutcome? {
    var answering = answering
    var reads: [HealthSampleQuery] = []
    while case .read(let query) = answering.step, reads.count < 9_999 {
      reads.append(query)
      if reads.count == failing {
        answering.fail(ReferenceAnswers.fault)
      } else {
        answering.take(store.page(query))
      }
    }
    guard case .done(let object) = answering.step else { return nil }
    let end = answering.step
    answering.take(HealthSamplePage(samples: scenario.samples))
    return AnswerOutcome(
      text: String(decoding: object.bytes, as: UTF8.self), succeeded: object.succeeded,
      points: answering.points, isCut: answering.isCut, reads: reads,
      isFinal: answering.step == end)
  }
}

/// Everything that can be observed about an answer.
struct AnswerOutcome: Equatable {
  var text: String
  var succeeded: Bool
  /// The number of points created.
  var points: Int
  var isCut: Bool
  var reads: [HealthSampleQuery]
  /// Whether a page that arrives after the end of the answer changes nothing.
  var isFinal = true
  /// Whether the answer exceeded the limit of groups. The tested code may then read fewer samples.
  var hasTooManyGroups = false

  /// Returns the first difference from the expected outcome.
  ///
  /// Numbers may differ in their last bits. If the answer exceeds the limit of groups, the tested
  /// code may read fewer samples. It may then skip fewer samples, and may not detect that a sum is
  /// too large.
  func difference(from expected: AnswerOutcome) -> String? {
    var (found, must) = (self, expected)
    found.hasTooManyGroups = must.hasTooManyGroups
    if must.hasTooManyGroups {
      if must.text.contains("\"skipped\":") || must.text.contains("add up") { return nil }
      found.reads = must.reads
    }
    if Self.isClose(found.text, must.text) { found.text = must.text }
    return firstDifference(found, must)
  }

  /// Returns whether two texts differ only in the rounding of numbers.
  private static func isClose(_ left: String, _ right: String) -> Bool {
    guard left != right else { return true }
    let marks: Set<Character> = [",", ":", "{", "}", "[", "]", "\""]
    let one = left.split { marks.contains($0) }
    let two = right.split { marks.contains($0) }
    guard one.count == two.count else { return false }
    return zip(one, two).allSatisfy { one, two in
      guard one != two, let one = Double(one), let two = Double(two) else { return one == two }
      return abs(one - two) <= 1e-12 * max(abs(one), abs(two))
    }
  }
}
