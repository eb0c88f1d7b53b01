import HoldfastCore
import HoldfastServerParts
import Testing

struct CertificateReloadsTests {
  private static let file = CertificateReloads.File(
    device: 1, number: 2, size: 3, modified: Timestamp(nanoseconds: 4),
    changed: Timestamp(nanoseconds: 5))
  private static let files = CertificateReloads.Files(chain: file, key: file)
  private static let validity = validity(10, 90)

  private static func validity(_ start: Int64, _ end: Int64) -> CertificateReloads.Validity {
    CertificateReloads.Validity(
      from: Timestamp(seconds: start, nanoseconds: 0), to: Timestamp(seconds: end, nanoseconds: 0))
  }

  private static func rules() -> CertificateReloads { CertificateReloads(files, validity) }

  private static func figures(_ rules: CertificateReloads, at now: Timestamp) -> [String] {
    var page = MetricsPage()
    rules.report(to: &page, at: now)
    return page.text.split(separator: "\n").map(String.init)
      .filter { $0.hasPrefix("holdfast_tls_certificate") }
  }

  @Test func `unchanged files are loaded only on request`() {
    #expect(!Self.rules().mustLoad(Self.files, isRequested: false))
    #expect(Self.rules().mustLoad(Self.files, isRequested: true))
  }

  @Test(arguments: 0..<7)
  func `each change of a file is noticed`(fact: Int) {
    var found = Self.files
    switch fact {
    case 0: found.chain?.device += 1
    case 1: found.chain?.number += 1
    case 2: found.key?.size -= 1
    case 3: found.key?.modified = Timestamp(nanoseconds: 3)
    case 4: found.key?.changed = Timestamp(nanoseconds: 6)
    case 5: found.chain = nil
    case _: found.key = nil
    }
    #expect(Self.rules().mustLoad(found, isRequested: false))
    var rules = Self.rules()
    rules.loaded(found, Self.validity)
    #expect(!rules.mustLoad(found, isRequested: false))
    #expect(rules.mustLoad(Self.files, isRequested: false))
  }

  @Test func `files that fail are tried again, and reported once for each change and request`() {
    var rules = Self.rules()
    var found = Self.files
    found.chain?.size += 1
    let first = rules.refused(found, "no key", isRequested: false)
    let same = rules.refused(found, "no key", isRequested: false)
    let requested = rules.refused(found, "no key", isRequested: true)
    let reason = rules.refused(found, "no chain", isRequested: false)
    found.key?.size += 1
    let changed = rules.refused(found, "no chain", isRequested: false)
    #expect([first, same, requested, reason, changed] == [true, false, true, true, true])
    #expect(rules.failure == "no chain")
    #expect(rules.mustLoad(found, isRequested: false))
    rules.loaded(found, Self.validity)
    #expect(rules.failure == nil)
    #expect(!rules.mustLoad(found, isRequested: false))
  }

  @Test(arguments: [
    (19, "it is not valid before 1970-01-01T00:00:20Z"), (20, nil), (50, nil),
    (51, "it expired at 1970-01-01T00:00:50Z"),
  ])
  func `a certificate that is not valid now does not replace a valid one`(
    now: Int64, fault: String?
  ) {
    let reason = fault.map { $0 + ", and the one in use is valid until 1970-01-01T00:01:30Z" }
    let time = Timestamp(seconds: now, nanoseconds: 0)
    #expect(Self.rules().objection(to: Self.validity(20, 50), at: time) == reason)
  }

  @Test(arguments: [(9, true), (10, false), (90, false), (91, true)])
  func `a certificate that is not valid now replaces one that is not valid either`(
    now: Int64, isTaken: Bool
  ) {
    let time = Timestamp(seconds: now, nanoseconds: 0)
    #expect((Self.rules().objection(to: Self.validity(1, 2), at: time) == nil) == isTaken)
  }

  @Test func `a failure without a change is reported`() {
    // Such as a permission that was taken from the process while it ran.
    var rules = Self.rules()
    let isReported = rules.refused(Self.files, "Permission denied", isRequested: false)
    #expect(isReported)
  }

  @Test(arguments: [(89, 1), (90, 0), (91, -1)])
  func `the metrics tell the time that is left, loads and a failure`(now: Int64, left: Int64) {
    var rules = Self.rules()
    let time = Timestamp(nanoseconds: now * 1_000_000_000)
    #expect(
      Self.figures(rules, at: time) == [
        "holdfast_tls_certificate_expiry_seconds \(left)",
        "holdfast_tls_certificate_reloads_total 0", "holdfast_tls_certificate_reload_failed 0",
      ])
    rules.loaded(Self.files, Self.validity(10, 100))
    _ = rules.refused(Self.files, "no key", isRequested: false)
    #expect(
      Self.figures(rules, at: time) == [
        "holdfast_tls_certificate_expiry_seconds \(left + 10)",
        "holdfast_tls_certificate_reloads_total 1", "holdfast_tls_certificate_reload_failed 1",
      ])
  }
}
