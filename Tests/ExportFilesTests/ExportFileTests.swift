import Foundation
import HoldfastExportFiles
import HoldfastTestKit
import Testing

/// Tests of plain files and zip archives in the form in which phones create them, and of damaged
/// files.
@Suite struct ExportFileTests {
  private static let export = Array(
    "<?xml version=\"1.0\"?>\n<HealthData locale=\"de\">\n</HealthData>\n".utf8)
  private static let document = Array("<?xml version=\"1.0\"?>\n<ClinicalDocument/>".utf8)

  @Test func `a plain file returns its bytes`() throws {
    let scratch = try Scratch()
    try scratch.write(Self.export, to: "x")
    let file = try ExportFile(path: scratch("x"))
    #expect(file.size == Self.export.count)
    #expect(file.entry == nil)
    #expect(try read(file, by: 7) == Self.export)
  }

  @Test(arguments: ["export.xml", "导出.xml", "экспорт.xml", "eksport.xml"])
  func `the export in a zip is found by its content, whatever its name`(
    _ name: String
  ) throws {
    let scratch = try Scratch()
    let zip = Zip([
      ("apple_health_export/export_cda.xml", Self.document),
      ("apple_health_export/\(name)", Self.export),
    ])
    try scratch.write(zip.bytes, to: "export.zip")
    let file = try ExportFile(path: scratch("export.zip"))
    // In the C locale, a name with non-ASCII characters cannot be decoded.
    #expect((file.entry ?? "apple_health_export/\(name)") == "apple_health_export/\(name)")
    #expect(file.size == Self.export.count)
    #expect(try read(file, by: 1_000) == Self.export)
  }

  @Test func `an export larger than its sniffed beginning is read completely`() throws {
    let scratch = try Scratch()
    let large = Self.export + (0..<100_000).map { UInt8($0 % 251) }
    try scratch.write(Zip([("a.xml", large)]).bytes, to: "z")
    #expect(try read(try ExportFile(path: scratch("z")), by: 4_097) == large)
  }

  @Test func `a zip without an export reports how many files it contains`() throws {
    let scratch = try Scratch()
    try scratch.write(Zip([]).bytes, to: "empty")
    try scratch.write(Zip([("a.xml", Self.document), ("b", [1])]).bytes, to: "other")
    #expect(throws: ExportFileError.noExport(files: 0)) { try ExportFile(path: scratch("empty")) }
    #expect(throws: ExportFileError.noExport(files: 2)) { try ExportFile(path: scratch("other")) }
  }

  @Test func `a zip whose end is missing or whose bytes changed fails as damaged`() throws {
    let scratch = try Scratch()
    let large = Self.export + (0..<100_000).map { UInt8($0 % 251) }
    var changed = Zip([("a.xml", large)]).bytes
    changed[5_000] ^= 0xFF
    try scratch.write(changed, to: "changed")
    let file = try ExportFile(path: scratch("changed"))
    let error = #expect(throws: ExportFileError.self) { try read(file, by: 4_096) }
    #expect(error?.description.hasPrefix("the zip is damaged: ") == true)
    try scratch.write(changed.prefix(2_000), to: "cut")
    #expect(throws: ExportFileError.self) {
      try read(try ExportFile(path: scratch("cut")), by: 4_096)
    }
  }

  @Test func `a missing file and a directory are reported as such`() throws {
    let scratch = try Scratch()
    #expect(throws: ExportFileError.unreadable(reason: "No such file or directory")) {
      try ExportFile(path: scratch("none"))
    }
    let error = #expect(throws: ExportFileError.self) { try ExportFile(path: scratch.path) }
    #expect(error?.description.contains("it is a directory") == true)
  }

  @Test func `the error for a zip with two exports names both`() throws {
    let scratch = try Scratch()
    let zip = Zip([
      ("a/export.xml", Self.export), ("route.gpx", [1]), ("b/Export.XML", Self.export),
    ])
    try scratch.write(zip.bytes, to: "z")
    let error = #expect(throws: ExportFileError.self) { try ExportFile(path: scratch("z")) }
    #expect(error == .severalExports(first: "a/export.xml", second: "b/Export.XML"))
    #expect(error?.description.contains("more than one export, a/export.xml and b/") == true)
  }

  @Test func `an encrypted zip is reported as encrypted`() throws {
    let scratch = try Scratch()
    var bytes = Zip([("export.xml", Self.export)]).bytes
    // Sets the first bit of the flags in the local header and in the directory (APPNOTE 4.4.4).
    bytes[6] |= 1
    let directory = try #require(bytes.firstRange(of: [0x50, 0x4B, 1, 2]))
    bytes[directory.lowerBound + 8] |= 1
    try scratch.write(bytes, to: "z")
    let error = #expect(throws: ExportFileError.encrypted) { try ExportFile(path: scratch("z")) }
    #expect(error?.description.contains("the zip is encrypted") == true)
  }

  @Test func `a symbolic link in place of the export is reported, in a zip and as the file`() throws
  {
    let scratch = try Scratch()
    var bytes = Zip([("export.xml", Array("elsewhere.xml".utf8))]).bytes
    // Sets the system to Unix, and the external attributes to S_IFLNK with 0777 (APPNOTE 4.4.2,
    // 4.4.15).
    let directory = try #require(bytes.firstRange(of: [0x50, 0x4B, 1, 2])).lowerBound
    bytes[directory + 5] = 3
    (bytes[directory + 40], bytes[directory + 41]) = (0xFF, 0xA1)
    try scratch.write(bytes, to: "z")
    #expect(throws: ExportFileError.linked(name: "export.xml")) {
      try ExportFile(path: scratch("z"))
    }
    try FileManager.default.createSymbolicLink(
      atPath: scratch("dangling"), withDestinationPath: "gone.xml")
    try FileManager.default.createSymbolicLink(
      atPath: scratch("loop"), withDestinationPath: "loop")
    #expect(
      throws: ExportFileError.unreadable(
        reason: "it is a symbolic link to gone.xml: No such file or directory")
    ) { try ExportFile(path: scratch("dangling")) }
    #expect(
      throws: ExportFileError.unreadable(
        reason: "it is a symbolic link that leads back to itself")
    ) { try ExportFile(path: scratch("loop")) }
    try scratch.write(Self.export, to: "x")
    try FileManager.default.createSymbolicLink(atPath: scratch("good"), withDestinationPath: "x")
    #expect(try read(try ExportFile(path: scratch("good")), by: 7) == Self.export)
  }

  #if os(Linux)
    @Test func `a pipe without a writer is reported, and one with a writer is read`() async throws {
      let scratch = try Scratch()
      for name in ["empty", "fed"] {
        try await Shell.run(["mkfifo", "-m", "600", scratch(name)])
      }
      let error = #expect(throws: ExportFileError.noWriter) {
        try ExportFile(path: scratch("empty"), timeLimit: .milliseconds(1))
      }
      #expect(error?.description.contains("a pipe that no program writes to") == true)
      async let fed: String = Shell.run(
        ["dd", "of=\(scratch("fed"))"], input: String(decoding: Self.export, as: UTF8.self))
      // The time limit allows for a writer that begins late.
      let file = try ExportFile(path: scratch("fed"), timeLimit: .seconds(100))
      #expect(!file.canRepeat)
      #expect(try read(file, by: 7) == Self.export)
      _ = try await fed
    }

    @Test func `waits for a pipe whose writer is silent`() async throws {
      let scratch = try Scratch()
      try await Shell.run(["mkfifo", "-m", "600", scratch("pipe")])
      let writer = try #require(FileHandle(forUpdatingAtPath: scratch("pipe")))
      let file = try ExportFile(path: scratch("pipe"), timeLimit: .milliseconds(1))
      try writer.write(contentsOf: Self.export)
      try writer.close()
      #expect(try read(file, by: 7) == Self.export)
    }
  #endif

  @Test(arguments: [false, true])
  func `rewinds to the same bytes, whatever its path now names`(
    _ isZip: Bool
  ) throws {
    let scratch = try Scratch()
    let large = Self.export + (0..<100_000).map { UInt8($0 % 251) }
    try scratch.write(isZip ? Zip([("b", [1]), ("a.xml", large)]).bytes : large, to: "x")
    let file = try ExportFile(path: scratch("x"))
    #expect(try read(file, by: 4_097) == large)
    try FileManager.default.removeItem(atPath: scratch("x"))
    for _ in 0..<2 {
      try file.rewind()
      #expect(try read(file, by: 4_097) == large)
    }
  }

  private func read(_ file: ExportFile, by size: Int) throws -> [UInt8] {
    var all: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: size)
    while true {
      let count = try file.read(into: &piece)
      guard count > 0 else { return all }
      all += piece[..<count]
    }
  }
}
