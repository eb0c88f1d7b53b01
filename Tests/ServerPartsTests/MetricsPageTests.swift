import HoldfastCore
import HoldfastServerParts
import Testing

/// Tests of the parts of which the metrics page consists.
struct MetricsPageTests {
  private static func lines(_ page: MetricsPage, of family: String) -> [String] {
    page.text.split(separator: "\n").filter { $0.hasPrefix(family) }.map(String.init)
  }

  @Test(arguments: [(4_999_999, 0), (5_000_000, 0), (5_000_001, 1)] as [(Int64, Int)])
  func `a bucket includes its bound`(nanoseconds: Int64, bucket: Int) {
    var page = MetricsPage()
    page.requests.answered("a", status: 200, after: .nanoseconds(nanoseconds))
    let buckets = Self.lines(page, of: "holdfast_request_seconds_bucket")
    #expect(buckets.count == 6)
    #expect(buckets.firstIndex { $0.hasSuffix(" 1") } == bucket)
  }

  @Test func `each route has its own times, and the counts of services are added`() {
    var (page, other) = (MetricsPage(), RequestCounts())
    page.requests.answered("a", status: 200, after: .milliseconds(20))
    other.answered("a", status: 404, after: .milliseconds(30))
    other.answered("b", status: 200, after: .seconds(3))
    page.requests.add(other)
    #expect(
      Self.lines(page, of: "holdfast_requests_total") == [
        #"holdfast_requests_total{route="a",status="200"} 1"#,
        #"holdfast_requests_total{route="a",status="404"} 1"#,
        #"holdfast_requests_total{route="b",status="200"} 1"#,
      ])
    #expect(
      Self.lines(page, of: "holdfast_request_seconds") == [
        #"holdfast_request_seconds_bucket{route="a",le="0.005"} 0"#,
        #"holdfast_request_seconds_bucket{route="a",le="0.025"} 1"#,
        #"holdfast_request_seconds_bucket{route="a",le="0.1"} 2"#,
        #"holdfast_request_seconds_bucket{route="a",le="0.5"} 2"#,
        #"holdfast_request_seconds_bucket{route="a",le="2.5"} 2"#,
        #"holdfast_request_seconds_bucket{route="a",le="+Inf"} 2"#,
        #"holdfast_request_seconds_sum{route="a"} 0.05"#,
        #"holdfast_request_seconds_count{route="a"} 2"#,
        #"holdfast_request_seconds_bucket{route="b",le="0.005"} 0"#,
        #"holdfast_request_seconds_bucket{route="b",le="0.025"} 0"#,
        #"holdfast_request_seconds_bucket{route="b",le="0.1"} 0"#,
        #"holdfast_request_seconds_bucket{route="b",le="0.5"} 0"#,
        #"holdfast_request_seconds_bucket{route="b",le="2.5"} 0"#,
        #"holdfast_request_seconds_bucket{route="b",le="+Inf"} 1"#,
        #"holdfast_request_seconds_sum{route="b"} 3"#,
        #"holdfast_request_seconds_count{route="b"} 1"#,
      ])
  }

  @Test func `every reason of a refusal is told, also before its first refusal`() {
    var page = MetricsPage()
    page.refusals.add(.ceiling(.phones), 2)
    page.refusals.add(.ceiling(.phones))
    let lines = Self.lines(page, of: "holdfast_refusals_total")
    #expect(lines.count == RefusalReason.all.count)
    #expect(Set(RefusalReason.all.map(\.name)).count == RefusalReason.all.count)
    #expect(
      lines.filter { !$0.hasSuffix(" 0") } == [#"holdfast_refusals_total{reason="phones"} 3"#])
  }

  @Test func `describes the program and the process`() {
    var (page, figures) = (MetricsPage(), ProcessFigures())
    page.describe(version: #"1"\2"#, isReady: false)
    figures.report(to: &page)
    #expect(!page.text.contains("process_"))
    figures.residentBytes = 1_024
    figures.openDescriptors = 3
    figures.maxDescriptors = 64
    figures.processorTime = .milliseconds(1_230)
    figures.start = .seconds(1_700_000_000) + .milliseconds(10)
    figures.databases = [.init(name: "relay", bytes: 4_096, logBytes: 0)]
    figures.disks = [.init(name: "data", freeBytes: 5, bytes: 9)]
    figures.report(to: &page)
    for line in [
      #"holdfast_build_info{version="1\"\\2"} 1"#, "holdfast_ready 0",
      "process_resident_memory_bytes 1024", "process_open_fds 3", "process_max_fds 64",
      "process_cpu_seconds_total 1.23", "process_start_time_seconds 1700000000.01",
      #"holdfast_database_bytes{database="relay",file="main"} 4096"#,
      #"holdfast_database_bytes{database="relay",file="wal"} 0"#,
      #"holdfast_disk_free_bytes{disk="data"} 5"#, #"holdfast_disk_size_bytes{disk="data"} 9"#,
    ] {
      #expect(page.text.contains(line + "\n"))
    }
  }

  /// The file of a program with a name that Linux allows, whose times are 5 and 7 ticks.
  private static func stat(of name: String) -> String {
    "12 (\(name)) S 1 12 12 0 -1 4194560 1 2 3 4 5 7 0 0 20 0 3 0 4242 99 1000 18446744073709551615 "
      + "1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0\n"
  }

  @Test(arguments: ["holdfast", "a b", ") S 1 (", "", ")"])
  func `reads the figures of a process with any name`(name: String) throws {
    let found = try #require(ProcessStat(Self.stat(of: name)))
    #expect(found.processorTicks == 12)
    #expect(found.startTicks == 4_242)
    #expect(found.residentPages == 1_000)
  }

  @Test(arguments: [
    "", ")", "12 (a", "12 (a) S 1", "12 (a) S 1 1 1 1 1 1 1 1 1 1 x 1 1 1 1 1 1 1 1 1 1 1",
    "12 (a) S 1 1 1 1 1 1 1 1 1 1 18446744073709551615 1 1 1 1 1 1 1 1 1 1",
  ])
  func `reads nothing from a file of another form`(text: String) {
    #expect(ProcessStat(text) == nil)
  }

  @Test(
    arguments: [
      (63, 0, .tooFew(least: 64)), (64, 0, .few(need: 256)), (65, 0, .few(need: 256)),
      (355, 100, .few(need: 356)), (356, 100, .enough), (357, 100, .enough),
      (.max, .max, .few(need: .max)), (-1, -1, .tooFew(least: 64)), (256, -1, .enough),
    ] as [(Int, Int, DescriptorLimit.Verdict)])
  func `compares the limit on descriptors with the ceilings`(
    limit: Int, sockets: Int, verdict: DescriptorLimit.Verdict
  ) {
    #expect(DescriptorLimit(limit: limit, sockets: sockets).verdict == verdict)
  }

  // Of 3,000 sockets, 1,000 have a fixed maximum. With the reserve, 3,256 descriptors are needed.
  @Test(
    arguments: [
      (3_257, nil), (3_256, nil), (3_255, [1_599, 399]), (2_256, [800, 200]), (1_757, [400, 100]),
      (1_756, [400, 100]), (1_755, nil), (1_256, nil), (64, nil), (63, nil), (-1, nil),
    ] as [(Int, [Int]?)])
  func `lowers maximums to what the limit on descriptors allows`(limit: Int, lowered: [Int]?) {
    let rule = DescriptorLimit(limit: limit, sockets: 3_000)
    #expect(rule.lowered([1_600, 400]) == lowered)
    guard let lowered else { return }
    let sockets = 1_000 + lowered.reduce(0, +)
    #expect(DescriptorLimit(limit: limit, sockets: sockets).verdict == .enough)
  }

  @Test(arguments: [[], [0], [-1], [.max], [.max, .max], [3_001]] as [[Int]])
  func `lowers no maximums that are none of the ceilings`(maximums: [Int]) {
    #expect(DescriptorLimit(limit: 2_000, sockets: 3_000).lowered(maximums) == nil)
    #expect(DescriptorLimit(limit: .max, sockets: .max).lowered(maximums) == nil)
  }
}
