import HoldfastCore
import HoldfastJSON
import HoldfastOperators
import HoldfastServerFixtures
import HoldfastServerParts
import HoldfastTestKit
import Testing

/// Tests of the list of erasures.
@Suite struct EraseJobsTests {
  private static func id(_ number: Int) -> UUID128 { UUID128(high: 1, low: UInt64(number)) }

  @Test func `the erasure of a user is accepted once until it has ended`() throws {
    var jobs = EraseJobs()
    let first = try jobs.accept("ann", as: Self.id(1), at: Stage.dawn)
    #expect(try jobs.accept("ann", as: Self.id(2), at: Stage.dawn) == first)
    #expect(try jobs.accept("ben", as: Self.id(3), at: Stage.dawn).id == Self.id(3))
    #expect(jobs.next == first)
    var counts = EraseJob.Counts()
    counts.messages = 3
    jobs.fail(first.id, "the disk is full")
    #expect(jobs[first.id]?.failure == "the disk is full")
    jobs.add(counts, to: first.id)
    jobs.end(first.id, at: Stage.dawn)
    let ended = try #require(jobs[first.id])
    #expect((ended.user, ended.isDone, ended.counts.messages) == (nil, true, 3))
    #expect(jobs.next?.id == Self.id(3))
    #expect(try jobs.accept("ann", as: Self.id(4), at: Stage.dawn).id == Self.id(4))
  }

  @Test func `users whose names differ only in how an accent is written are two`() throws {
    var jobs = EraseJobs()
    #expect(try jobs.accept("jos\u{E9}", as: Self.id(1), at: Stage.dawn).id == Self.id(1))
    #expect(try jobs.accept("jose\u{301}", as: Self.id(2), at: Stage.dawn).id == Self.id(2))
  }

  @Test func `the file names a user only until the erasure has ended`() throws {
    var jobs = EraseJobs()
    _ = try jobs.accept("ann-4711", as: Self.id(1), at: Stage.dawn)
    let file = jobs.encode()
    #expect(String(decoding: file, as: UTF8.self).contains("ann-4711"))
    #expect(try EraseJobs.decode(file) == jobs)
    jobs.end(Self.id(1), at: Stage.dawn)
    let ended = jobs.encode()
    #expect(!String(decoding: ended, as: UTF8.self).contains("ann-4711"))
    #expect(try EraseJobs.decode(ended) == jobs)
  }

  @Test func `at most 1,000 erasures are open, and 100 ended ones are kept`() throws {
    var jobs = EraseJobs()
    for number in 0..<EraseJobs.mostOpen {
      _ = try jobs.accept("u\(number)", as: Self.id(number), at: Stage.dawn)
    }
    #expect(throws: HTTPRefusal.self) {
      try jobs.accept("one more", as: Self.id(5_000), at: Stage.dawn)
    }
    for number in 0...EraseJobs.mostEnded { jobs.end(Self.id(number), at: Stage.dawn) }
    #expect(jobs[Self.id(0)] == nil)
    #expect(jobs[Self.id(1)]?.isDone == true)
    #expect(jobs.all.count == EraseJobs.mostOpen - 1)
    #expect(try jobs.accept("one more", as: Self.id(5_000), at: Stage.dawn).id == Self.id(5_000))
    #expect(try EraseJobs.decode(jobs.encode()) == jobs)
  }

  @Test(arguments: [
    "", "[]", #"{"erasures":7}"#, #"{"erasures":[7]}"#, #"{"erasures":[{}]}"#,
    #"{"erasures":[{"id":"x","user":"ann","accepted_at":"2026-01-01T00:00:00Z"}]}"#,
    #"{"erasures":[{"id":"00000000-0000-0001-0000-000000000001","accepted_at":"2026-01-01T00:00:00Z"}]}"#,
    #"{"erasures":[{"id":"00000000-0000-0001-0000-000000000001","user":"ann","accepted_at":"now"}]}"#,
  ])
  func `a damaged file is refused`(text: String) {
    #expect(throws: FieldFault.self) { try EraseJobs.decode(Array(text.utf8)) }
  }
}
