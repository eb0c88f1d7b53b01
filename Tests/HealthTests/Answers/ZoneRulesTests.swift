import Foundation
import HoldfastCore
import Testing

@testable import HoldfastHealth

private func local(_ text: String) -> CivilTime {
  guard case .local(let reading) = time(text) else { preconditionFailure("a zone: \(text)") }
  return reading
}

@Suite struct ZoneRulesTests {
  @Test func `the local time is correct on both sides of a clock change`() {
    let zone = Zones.berlin
    #expect(zone.local(at: at("2026-03-29T00:59:59Z")) == local("2026-03-29T01:59:59"))
    #expect(zone.local(at: at("2026-03-29T01:00:00Z")) == local("2026-03-29T03:00:00"))
    #expect(zone.local(at: at("2026-10-25T00:59:59Z")) == local("2026-10-25T02:59:59"))
    #expect(zone.local(at: at("2026-10-25T01:00:00Z")) == local("2026-10-25T02:00:00"))
    #expect(zone.secondsEast(at: at("2026-07-01T00:00:00Z")) == 7_200)
  }

  @Test(arguments: [
    (0, "UTC+00:00"), (34_200, "UTC+09:30"), (36_000, "UTC+10:00"), (-35_100, "UTC-09:45"),
    (50_940, "UTC+14:09"),
  ])
  func `a zone without a name is titled by its offset`(secondsEast: Int, title: String) {
    let zone = ZoneRules(initialSecondsEast: secondsEast)
    #expect(zone.title(at: at("2026-03-29T00:00:00Z")) == title)
  }

  @Test(arguments: [("UTC", "UTC"), ("Etc/UTC", "Etc/UTC"), ("Europe/London", "Europe/London")])
  func `a zone keeps its name`(name: String, title: String) {
    #expect(Zones.rules(name).name == title)
    #expect(Zones.rules(name).title(at: at("2026-07-01T00:00:00Z")) == title)
  }

  @Test(arguments: [
    ("2026-03-29T01:59:59", "2026-03-29T00:59:59Z"),
    // Skipped local times are converted with the offset before the gap.
    ("2026-03-29T02:00:00", "2026-03-29T01:00:00Z"),
    ("2026-03-29T02:30:00", "2026-03-29T01:30:00Z"),
    ("2026-03-29T03:00:00", "2026-03-29T01:00:00Z"),
    ("2026-10-25T01:59:59", "2026-10-24T23:59:59Z"),
    // A repeated local time denotes its first occurrence.
    ("2026-10-25T02:30:00", "2026-10-25T00:30:00Z"),
    ("2026-10-25T03:00:00", "2026-10-25T02:00:00Z"),
  ])
  func `a local time is converted to its instant, and a repeated one to its first occurrence`(
    reading: String, moment: String
  ) {
    #expect(Zones.berlin.instant(of: local(reading)) == at(moment))
  }

  @Test(arguments: Zones.names)
  func `zone rules have the same offsets as Foundation's time zones`(name: String) {
    let zone = Zones.zone(name)
    let rules = Zones.rules(name)
    var generator = RandomSource(seed: 21)
    for _ in 0..<5_000 {
      let second = Int.random(in: 0..<4_102_444_800, using: &generator)
      let date = Date(timeIntervalSince1970: Double(second))
      let moment = Timestamp(nanoseconds: Int64(second) * 1_000_000_000)
      #expect(rules.secondsEast(at: moment) == zone.secondsFromGMT(for: date))
    }
    for change in rules.transitions {
      let second = Double(change.at.nanoseconds / 1_000_000_000)
      let (before, after) = (
        zone.secondsFromGMT(for: Date(timeIntervalSince1970: second - 1)),
        zone.secondsFromGMT(for: Date(timeIntervalSince1970: second))
      )
      #expect(before != after)
      #expect(after == change.secondsEast)
    }
  }

  @Test(arguments: Zones.names)
  func `a local time converts to an instant that shows the same local time`(name: String) {
    let rules = Zones.rules(name)
    var generator = RandomSource(seed: 22)
    for _ in 0..<5_000 {
      let moment = Timestamp(
        nanoseconds: Int64.random(in: 0..<4_102_444_800_000_000_000, using: &generator))
      let reading = rules.local(at: moment)
      let first = rules.instant(of: reading)
      #expect(rules.local(at: first) == reading)
      #expect(first <= moment)
    }
  }
}
