import Foundation
import HoldfastCore
import Testing

/// Tests of policies with random changes, in text and in JSON.
@Suite struct RandomPolicyTests {
  private static let odd = [
    "", "x", "0s", "99ms", "10001h", "-1s", "1001", "off", "none", "1s", "3",
  ]

  /// Returns a random preset with up to four accepted changes, whose values come mostly from other
  /// presets.
  ///
  /// Calls `refused` for each change that the policy rejects.
  private func policy(
    _ generator: inout RandomSource, refused: ((key: String, value: String), PolicyError) -> Void
  ) -> LinkPolicy {
    var policy = LinkPolicy.presets[Int.random(in: LinkPolicy.presets.indices, using: &generator)]
    for _ in 0..<Int.random(in: 0...4, using: &generator) {
      let key = PolicyKey.all[Int.random(in: PolicyKey.all.indices, using: &generator)].name
      let others = LinkPolicy.presets.compactMap { preset in
        preset.values.first { $0.key == key }?.value
      }
      let value = (others + Self.odd).randomElement(using: &generator) ?? ""
      do throws(PolicyError) {
        policy = try policy.setting([(key, value)])
      } catch {
        refused((key, value), error)
      }
    }
    return policy
  }

  @Test func `a policy survives text and JSON, and a rejected change reports its problems`() throws
  {
    var generator = RandomSource(seed: 60)
    var count = 0
    for _ in 0..<150 {
      let policy = policy(&generator) { change, error in
        count += 1
        #expect(!error.problems.isEmpty, "\(change)")
        for problem in error.problems { #expect(error.description.contains(problem)) }
      }
      let preset = try #require(LinkPolicy.preset(named: policy.name))
      #expect(try preset.setting(policy.values) == policy)
      let data = try JSONEncoder().encode(policy)
      #expect(try JSONDecoder().decode(LinkPolicy.self, from: data) == policy)
      let object = try JSONSerialization.jsonObject(with: data) as? [String: String]
      let members = Dictionary(policy.values.map { ($0.key, $0.value) }) { first, _ in first }
      #expect(object == members.merging(["preset": policy.name]) { first, _ in first })
    }
    #expect(count > 0)
  }

  @Test func `JSON without a known preset, or with an invalid member, is rejected`() throws {
    for policy in LinkPolicy.presets {
      let values = policy.values.map { "\"\($0.key)\":\"\($0.value)\"" }
      let preset = "\"preset\":\"\(policy.name)\""
      let forms = [
        values, values + ["\"preset\":\"odd\""], [preset, "\"retry.serverJitter\":5"],
        [preset, "\"retry.odd\":\"1s\""], ["\"preset\":7"],
      ]
      for form in forms {
        let data = Data("{\(form.joined(separator: ","))}".utf8)
        #expect(throws: DecodingError.self) {
          try JSONDecoder().decode(LinkPolicy.self, from: data)
        }
      }
      let members = (values + [preset]).shuffled(by: 61).joined(separator: ",")
      let whole = Data("{\(members)}".utf8)
      #expect(try JSONDecoder().decode(LinkPolicy.self, from: whole) == policy)
    }
  }

  @Test func `random durations and schedules survive a round trip through text`() {
    var generator = RandomSource(seed: 62)
    func duration() -> Duration {
      let units = [1, 1_000, 1_000_000, 1_000_000_000, 60_000_000_000, 3_600_000_000_000]
      let unit = units.randomElement(using: &generator) ?? 1
      return .nanoseconds(Int.random(in: 0...10_000, using: &generator) * unit)
    }
    for _ in 0..<1_000 {
      let first = duration()
      #expect(Duration(text: first.text) == first)
      let waits = (0..<Int.random(in: 0...4, using: &generator)).map { _ in duration() }
      let jitter = Double(Int.random(in: 0...100, using: &generator)) / 100
      let schedules: [Schedule] = [
        .list(waits),
        .exponential(
          first: first, factor: Int.random(in: 0...1_000, using: &generator), cap: duration(),
          jitter: jitter, floor: duration(),
          attempts: Bool.random(using: &generator)
            ? nil : Int.random(in: 0...1_000, using: &generator)),
      ]
      for schedule in schedules { #expect(Schedule(text: schedule.text) == schedule) }
    }
  }
}

extension [String] {
  fileprivate func shuffled(by seed: UInt64) -> [String] {
    var generator = RandomSource(seed: seed)
    return shuffled(using: &generator)
  }
}
