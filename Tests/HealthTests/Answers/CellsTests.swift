import HoldfastCore
import HoldfastHealthSamples
import Testing

@testable import HoldfastHealth

/// Tests of the cells of an answer, and of the numbers of their sources and tracks.
@Suite struct CellsTests {
  private static func day(_ number: Int64) -> Bucket {
    CalendarBuckets(zone: .utc, grouping: .day)
      .bucket(at: Timestamp(nanoseconds: number * CivilTime.nanosecondsPerDay))
  }

  /// Adds one to a cell of the first source.
  private static func add(_ type: Int, _ day: Int64, to cells: inout Cells) {
    let isTaken = cells.update(type: type, source: 0, bucket: Self.day(day)) {
      $0.take(1, for: .sum)
    }
    #expect(isTaken)
  }

  @Test func `alternating types have separate cells`() {
    var cells = Cells(limit: 9)
    for type in [0, 1, 0] { Self.add(type, 1, to: &cells) }
    #expect(cells.all.map(\.type) == [0, 1])
    #expect(cells.all.map { $0.sums[0] } == [2, 1])
  }

  @Test func `alternating kinds of workout have separate cells`() {
    var cells = Cells(limit: 9)
    for kind in ["RUNNING", "YOGA", "RUNNING"] {
      _ = cells.update(type: 0, source: 0, bucket: Self.day(1), activity: kind) {
        $0.take(1, for: .sum)
      }
    }
    #expect(cells.all.map(\.activity) == ["RUNNING", "YOGA"])
    #expect(cells.all.map { $0.sums[0] } == [2, 1])
  }

  @Test func `a discarded span can be filled again`() {
    var cells = Cells(limit: 9)
    for day: Int64 in [1, 3] { Self.add(0, day, to: &cells) }
    cells.drop(from: Self.day(3).start)
    for day: Int64 in [2, 3] { Self.add(0, day, to: &cells) }
    #expect(cells.all.map(\.bucket) == [Self.day(1), Self.day(2), Self.day(3)])
    #expect(cells.all.map { $0.sums[0] } == [1, 1, 1])
  }

  @Test func `a repeated source keeps its number and is named once`() {
    var sources = Sources()
    var numbers: [Int] = []
    for name in ["Watch", "Phone", "Watch", "Phone"] {
      numbers.append(sources.number(name, device: nil))
    }
    #expect(numbers == [2, 3, 2, 3])
    #expect(sources.names == ["merged", "all", "Watch", "Phone"])
  }

  @Test func `a source has one lane for each kind of device, even if the devices alternate`() {
    var tracks = SourceMerger()
    var sample = steps(1, "2026-01-05T10:00:00Z", "2026-01-05T10:01:00Z", source: "Anna")
    var numbers: [Int] = []
    for device in ["model:Watch", "model:iPhone", "model:Watch", "model:iPhone"] {
      sample.device = device
      numbers.append(tracks.track(of: sample, source: 1))
    }
    #expect(numbers == [0, 1, 0, 1])
    #expect(
      tracks.ranks == [
        SourceRank(kind: .watch, name: "Anna"), SourceRank(kind: .phone, name: "Anna"),
      ])
  }
}
