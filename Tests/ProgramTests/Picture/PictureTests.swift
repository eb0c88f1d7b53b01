import Foundation
import HoldfastRigs
import HoldfastTestKit
import Testing

/// Tests of the pages that `holdfast replay --html` writes, opened in Chromium.
@Suite(.timeLimit(.minutes(60))) struct PictureTests {
  @Test(.enabled(if: PageCheck.isInstalled, "\(PageCheck.remedy)"))
  func `a page of real journals works in a browser`() async throws {
    try await CommandProcess.scratch { directory in
      let journals = try await RecordedLinks.journals(in: directory)
      let page = directory + "/real.html"
      let replay = try await CommandProcess.run(["replay", "--html", page] + journals)
      #expect(replay.status == 0, "\(replay)")
      let schema = PageCheck.package.appending(path: "docs/trace.schema.json").path
      let failures = try await PictureScript.failures(
        "check_picture.py", ["--schema", schema, page])
      #expect(failures == nil)
    }
  }
}
