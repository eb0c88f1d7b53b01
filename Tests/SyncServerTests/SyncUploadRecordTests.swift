import HoldfastCore
import HoldfastSyncServer
import Testing

@testable import HoldfastServerParts

/// Tests for the record in the first line of an upload's file.
@Suite struct SyncUploadRecordTests {
  @Test(arguments: [("}", true), ("", false), (",", false), ("}x", false), ("}}", false)])
  func `a record is one JSON object with nothing after it`(end: String, isRecord: Bool) {
    let line = Array("{\"user\":\"ann\",\"length\":10,\"gzip\":false\(end)\n".utf8)
    let record = UploadRecord(user: "ann", length: 10, isGzip: false)
    #expect(UploadRecord.read(line)?.record == (isRecord ? record : nil))
  }

  @Test(arguments: [(2_048, true), (2_049, false)])
  func `a record has at most 2,048 bytes, including the end of its line`(bytes: Int, isRecord: Bool)
  {
    let fields = "\"user\":\"ann\",\"length\":10,\"gzip\":false}\n"
    let spaces = String(repeating: " ", count: bytes - fields.utf8.count - 1)
    let record = UploadRecord(user: "ann", length: 10, isGzip: false)
    let found = UploadRecord.read(Array("{\(spaces)\(fields)".utf8))
    #expect(found?.record == (isRecord ? record : nil))
    #expect(found?.bytes == (isRecord ? bytes : nil))
  }

  @Test(arguments: [(200, true), (201, false)])
  func `a user name in a record has at most 200 bytes`(bytes: Int, isRecord: Bool) {
    let name = String(repeating: "n", count: bytes)
    let record = UploadRecord(user: name, length: 10, isGzip: true)
    #expect(UploadRecord.read(record.line)?.record == (isRecord ? record : nil))
  }

  @Test func `the longest name fits into its line even if each byte is escaped`() {
    let name = String(repeating: "\u{1}", count: 200)
    let record = UploadRecord(user: name, length: 4_194_304, isGzip: false)
    #expect(UploadRecord.read(record.line)?.record == record)
  }

  @Test(arguments: [(0, true), (4_194_304, true), (4_194_305, false), (-1, false)])
  func `an upload has between 0 bytes and 4 MiB`(length: Int, isRecord: Bool) {
    let record = UploadRecord(user: "ann", length: length, isGzip: false)
    #expect(UploadRecord.read(record.line)?.record == (isRecord ? record : nil))
  }
}
