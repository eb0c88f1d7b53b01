import HoldfastCore
import HoldfastUploads
import Testing

@testable import HoldfastSyncServer

/// Tests for reading a `SyncCall` from the head of a request.
@Suite struct SyncCallTests {
  private static func read(_ path: SyncPath, _ fields: [String: String]) -> SyncCall {
    SyncCall(
      path == .sync ? "POST" : "PATCH", path, field: { fields[$0] }, query: { _ in nil },
      candidate: { SyncStage.name })
  }

  @Test(
    arguments: [
      (SyncPath.sync, "?1", nil, 7), (.sync, "?0", nil, nil), (.sync, "?1", "9", 9),
      (.upload, "?1", nil, nil),
    ] as [(SyncPath, String, String?, Int?)])
  func `the length of a whole payload is that of its body, unlike that of an append`(
    path: SyncPath, isComplete: String, length: String?, wanted: Int?
  ) {
    var fields = ["upload-complete": isComplete, "content-length": "7"]
    fields["upload-draft-interop-version"] = "8"
    fields["upload-length"] = length
    let upload = Self.read(path, fields).upload
    #expect(upload != nil)
    #expect(upload?.length == wanted)
  }

  @Test(arguments: [
    "application/json", "Application/JSON", " application/json ;charset=utf-8",
    "\tapplication/json\t; charset=utf-8",
  ])
  func `media types are read regardless of case, spaces and parameters`(text: String) {
    let fields = ["tus-resumable": "1.0.0", "content-type": text]
    #expect(Self.read(.upload, fields).mediaType == "application/json")
  }
}
