import LinkCore
import LinkWire
import Testing

@testable import LinkServerCore

/// The first line of the file of an upload.
@Suite struct SyncUploadRecordTests {
  @Test(arguments: [("}", true), ("", false), (",", false), ("}x", false), ("}}", false)])
  func `a record is a whole object and nothing behind it`(end: String, isRecord: Bool) {
    let line = Array("{\"user\":\"ann\",\"length\":10,\"gzip\":false\(end)\n".utf8)
    let record = SyncUploadRecord(user: "ann", length: 10, isGzip: false)
    #expect(SyncUploadRecord.read(line)?.record == (isRecord ? record : nil))
  }
}
