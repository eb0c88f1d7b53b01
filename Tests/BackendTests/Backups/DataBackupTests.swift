import Foundation
import HoldfastCore
import HoldfastMessageData
import HoldfastOperators
import HoldfastTestKit
import Testing

@testable import HoldfastBackend
@testable import HoldfastBackups

/// Tests of backups of data directories, and of their restoration.
@Suite(.timeLimit(.minutes(60))) struct DataBackupTests {
  private static let program = "0.1.0"
  private let scratch: Scratch

  init() throws {
    scratch = try Scratch()
  }

  /// Makes a backup of `data` with the name `backup`.
  private func backup(
    replaces: Bool = false, to name: String = "backup"
  ) async throws(BackupError) -> DataBackup.Report? {
    try await DataBackup.run(
      of: scratch("data"), to: scratch(name), replaces: replaces, program: Self.program)
  }

  private func restore(
    _ name: String = "backup", to directory: String = "new"
  ) async throws(BackupError) -> DataRestore.Report? {
    try await DataRestore.run(scratch(name), to: scratch(directory))
  }

  /// Creates a data directory with secrets and without stores.
  private func makeFiles() throws {
    try FileManager.default.createDirectory(
      atPath: scratch("data/images"), withIntermediateDirectories: true,
      attributes: [.posixPermissions: 0o700])
    try scratch.write([UInt8](repeating: 7, count: 32), to: "data/secret")
    try scratch.write(Array(#"{"removed":[]}"#.utf8), to: "data/removed.json")
    try scratch.write((0..<3_000).map { UInt8($0 % 251) }, to: "data/images/one")
  }

  /// Returns the contents of all files of a directory by path.
  private func files(of directory: String) throws -> [String: [UInt8]] {
    var files: [String: [UInt8]] = [:]
    for path in try FileManager.default.subpathsOfDirectory(atPath: scratch(directory)) {
      guard let content = try? scratch.bytes(of: "\(directory)/\(path)") else { continue }
      files[path] = content
    }
    return files
  }

  /// Runs a program, and returns its output.
  @discardableResult
  private func output(_ words: String...) async throws -> [String] {
    let process = try LabProcess(words)
    process.endInput()
    var lines: [String] = []
    for await line in process.lines { lines.append(line) }
    _ = await process.exit()
    return lines
  }

  private func exists(_ name: String) -> Bool {
    FileManager.default.fileExists(atPath: scratch(name))
  }

  // MARK: - Of a backend

  @Test func `a backup of a running backend holds its messages, which are in a new epoch then`()
    async throws
  {
    var token = ""
    var last: ShopPosition?
    try await BackendRig.run(in: scratch("data")) { rig in
      token = try await rig.token()
      let client = try rig.client()
      for text in ["one", "two", "three"] {
        last = try await client.post(text, token: token).message().position
      }
      let made = try #require(try await backup())
      #expect(Set(made.stores).count == 4)
      #expect(made.leftOut == [])
      #expect(made.missingImages == 0)
      #expect(made.wait != nil)
      // What is posted afterwards is not in it.
      _ = try await client.post("four", token: token)
    }
    #expect(try scratch.mode(of: "backup") == 0o600)
    #expect(!exists("backup.draft"))
    let restored = try #require(try await restore())
    #expect(restored.head.program == Self.program)
    #expect(try scratch.mode(of: "new") == 0o700)
    #expect(try scratch.mode(of: "new/secret") == 0o600)
    try await BackendRig.run(in: scratch("new")) { rig in
      let client = try rig.client()
      let all = try await client.ask(
        "GET", "/api/v1/auth/shops/\(BackendRig.shop)/messages", token: token)
      #expect(all.status == 200)
      #expect(["one", "two", "three"].allSatisfy { all.body.contains($0) })
      #expect(!all.body.contains("four"))
      let next = try await client.post("five", token: token).message().position
      #expect(next?.epoch != last?.epoch)
      #expect(next?.offset == (last?.offset).map { $0 + 1 })
    }
  }

  @Test func `the file is listed by tar, and its checksums hold for sha256sum`() async throws {
    try makeFiles()
    let made = try #require(try await backup())
    #expect(made.files == 3)
    let listed = try await output("tar", "-tf", scratch("backup"))
    #expect(
      listed == [
        "backup.json", "images/one", "removed.json", "secret", "SHA256SUMS",
      ])
    let script = """
      set -e; mkdir unpacked; tar -C unpacked -xf backup; (cd unpacked; sha256sum -c SHA256SUMS)
      """
    let checked = try await output("sh", "-c", "cd '\(scratch.path)'; \(script)")
    #expect(checked.count == 4 && checked.allSatisfy { $0.hasSuffix(": OK") })
    let sum = try await output("sha256sum", scratch("backup"))
    #expect(sum.first?.hasPrefix(made.sum) == true)
    #expect(
      try FileManager.default.attributesOfItem(atPath: scratch("backup"))[.size] as? Int
        == made.bytes)
  }

  // MARK: - Damage

  @Test func `an archive that was cut off anywhere is refused`() async throws {
    try makeFiles()
    _ = try #require(try await backup())
    let whole = try scratch.bytes(of: "backup")
    let end = try #require(whole.lastIndex { $0 != 0 })
    for count in 0...end {
      try scratch.write(whole[..<count], to: "cut")
      await #expect(throws: BackupError.self, "\(count)") {
        try await DataRestore.check(scratch("cut"))
      }
      guard count.isMultiple(of: 97) else { continue }
      await #expect(throws: BackupError.self, "\(count)") { try await restore("cut") }
      #expect(!exists("new"))
    }
  }

  @Test func `an archive with a changed byte is refused, or restores the same content`()
    async throws
  {
    try makeFiles()
    _ = try #require(try await backup())
    let whole = try scratch.bytes(of: "backup")
    var generator = RandomSource(seed: 70)
    var restored = 0
    for number in 0..<1_000 {
      var changed = whole
      let place = Int.random(in: 0..<whole.count, using: &generator)
      changed[place] ^= UInt8.random(in: 1...255, using: &generator)
      try scratch.write(changed, to: "changed")
      let isWhole = (try? await DataRestore.check(scratch("changed"))) != nil
      guard isWhole ? restored < 20 : number.isMultiple(of: 20) else { continue }
      do {
        _ = try await restore("changed")
        restored += 1
        // Some bytes of the archive, such as filling, mean nothing.
        let (found, wanted) = (try files(of: "new"), try files(of: "data"))
        #expect(isWhole && found == wanted, "\(place)")
        try FileManager.default.removeItem(atPath: scratch("new"))
      } catch {
        #expect(!isWhole && error is BackupError && !exists("new"), "\(place): \(error)")
      }
    }
  }

  @Test func `a file that is no backup, or none at all, is refused`() async throws {
    try scratch.write(Array("something else\n".utf8), to: "text")
    try scratch.write([], to: "empty")
    try FileManager.default.createDirectory(
      atPath: scratch("folder"), withIntermediateDirectories: false)
    for name in ["text", "empty", "folder", "missing"] {
      await #expect(throws: BackupError.self) { try await restore(name) }
      await #expect(throws: BackupError.self) { try await DataRestore.check(scratch(name)) }
      #expect(!exists("new"))
    }
    try await output(
      "sh", "-c", "cd '\(scratch.path)'; mkdir images; echo x >images/a; tar -cf other images")
    await #expect(throws: BackupError.self) { try await restore("other") }
  }

  @Test func `members outside of the directory and links are refused`() async throws {
    let script = """
      import io, sys, tarfile
      folder, name, kind = sys.argv[1:]
      with tarfile.open(folder + "/hostile", "w") as archive:
          head = b'{"format":1,"program":"1","made_at":"2026-11-29T00:00:00Z","stores":[]}'
          first = tarfile.TarInfo("backup.json")
          first.size = len(head)
          archive.addfile(first, io.BytesIO(head))
          member = tarfile.TarInfo(name)
          member.type = {"file": tarfile.REGTYPE, "link": tarfile.SYMTYPE, "hard": tarfile.LNKTYPE,
                         "pipe": tarfile.FIFOTYPE}[kind]
          member.linkname = "backup.json"
          archive.addfile(member)
      """
    let hostile = [
      ("/tmp/holdfast-outside", "file"), ("../outside", "file"), ("images/../../outside", "file"),
      ("secret", "link"), ("secret", "hard"), ("secret", "pipe"), ("messages.sqlite", "file"),
      ("messages.lock", "file"), ("images/a.0123456789abcdefghij", "file"), ("etc/passwd", "file"),
      ("backup.json", "file"),
    ]
    for (name, kind) in hostile {
      try await output("python3", "-c", script, scratch.path, name, kind)
      await #expect(throws: BackupError.self, "\(name) \(kind)") { try await restore("hostile") }
      #expect(!exists("new") && !exists("outside"))
    }
    #expect(!FileManager.default.fileExists(atPath: "/tmp/holdfast-outside"))
  }

  @Test func `a backup of a newer program is refused after its first member`() async throws {
    let head = BackupHead(
      program: "9.0.0", madeAt: Timestamp(nanoseconds: 0),
      stores: [BackupHead.Store(file: "messages.sqlite", version: 1_000)])
    let archive = try BackupArchive(at: scratch("backup"))
    try archive.add(head.encode(), as: BackupNames.head, at: Timestamp(nanoseconds: 0))
    _ = try archive.finish(at: Timestamp(nanoseconds: 0))
    let fault = BackupError.archive(path: scratch("backup"), .newer(program: "9.0.0"))
    await #expect(throws: fault) { try await restore() }
    #expect(!exists("new"))
  }

  @Test func `a store of a newer program is not backed up`() async throws {
    try await BackendRig.run(in: scratch("data")) { _ in }
    let file = try FileHandle(forWritingTo: URL(filePath: scratch("data/messages.sqlite")))
    // PRAGMA user_version (sqlite.org/fileformat2.html#the_database_header).
    try file.seek(toOffset: 60)
    try file.write(contentsOf: Data([0, 0, 4, 0]))
    try file.close()
    do throws(BackupError) {
      _ = try await backup()
      Issue.record("it was backed up")
    } catch {
      guard case .store(.fromTheFuture(found: 1_024, supported: _)) = error else {
        Issue.record("\(error)")
        return
      }
    }
    #expect(!exists("backup") && !exists("backup.draft"))
  }

  // MARK: - Places

  @Test func `an existing file is replaced only if that is asked for`() async throws {
    try makeFiles()
    try scratch.write([1], to: "backup")
    await #expect(throws: BackupError.self) { try await backup() }
    #expect(try scratch.bytes(of: "backup") == [1])
    #expect(try await backup(replaces: true) != nil)
    #expect(try await DataRestore.check(scratch("backup"))?.files == 3)
  }

  @Test func `the file is not in the data directory, and that is one of a backend`() async throws {
    try makeFiles()
    for name in ["data/backup", "data/images/backup", "nowhere/backup"] {
      await #expect(throws: BackupError.self, "\(name)") { try await backup(to: name) }
    }
    #expect(try files(of: "data").count == 3)
    try FileManager.default.removeItem(atPath: scratch("data/secret"))
    await #expect(throws: BackupError.self) { try await backup() }
    #expect(!exists("backup"))
  }

  @Test func `what a killed backup left is no obstacle`() async throws {
    try makeFiles()
    try FileManager.default.createDirectory(
      atPath: scratch("backup.draft"), withIntermediateDirectories: false,
      attributes: [.posixPermissions: 0o700])
    try scratch.write([1], to: "backup.draft/archive")
    #expect(try await backup()?.files == 3)
    #expect(!exists("backup.draft"))
  }

  @Test func `a draft that is a link to another directory is not touched`() async throws {
    try makeFiles()
    try FileManager.default.createDirectory(
      atPath: scratch("other"), withIntermediateDirectories: false)
    try scratch.write([1], to: "other/archive")
    try FileManager.default.createSymbolicLink(
      atPath: scratch("backup.draft"), withDestinationPath: "other")
    await #expect(throws: BackupError.self) { try await backup() }
    #expect(try scratch.bytes(of: "other/archive") == [1])
  }

  @Test func `other folders, links and foreign databases are left out, and named`() async throws {
    try makeFiles()
    try FileManager.default.createDirectory(
      atPath: scratch("data/own"), withIntermediateDirectories: false)
    try FileManager.default.createSymbolicLink(
      atPath: scratch("data/link"), withDestinationPath: "secret")
    try scratch.write([1], to: "data/old.sqlite")
    try scratch.write([1], to: "data/messages.lock")
    try scratch.write([1], to: "data/hook-secret")
    let made = try #require(try await backup())
    #expect(made.leftOut == ["link", "old.sqlite", "own"])
    #expect(made.files == 4)
  }

  @Test func `a directory with content is not restored to, and stays as it is`() async throws {
    try makeFiles()
    _ = try await backup()
    let before = try files(of: "data")
    await #expect(throws: BackupError.self) { try await restore(to: "data") }
    #expect(try files(of: "data") == before)
    try FileManager.default.createDirectory(
      atPath: scratch("new/lost+found"), withIntermediateDirectories: true,
      attributes: [.posixPermissions: 0o700])
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o700], ofItemAtPath: scratch("new"))
    #expect(try await restore() != nil)
    #expect(try files(of: "new") == before)
  }

  @Test func `a restoration that was killed keeps backends away, and is begun anew`() async throws {
    try makeFiles()
    _ = try await backup()
    let wanted = try files(of: "data")
    try FileManager.default.moveItem(atPath: scratch("data"), toPath: scratch("new"))
    try scratch.write(Array("restore /backups/x\n".utf8), to: "new/moved")
    await #expect(throws: BackendError.self) {
      try await BackendRig.run(in: scratch("new")) { _ in }
    }
    #expect(try await restore() != nil)
    #expect(try files(of: "new") == wanted)
  }

  @Test func `stores that were moved away are not backed up, but where they are`() async throws {
    try makeFiles()
    try scratch.write([1], to: "data/messages.sqlite")
    try scratch.write(Array("to postgres://db/holdfast\n".utf8), to: "data/moved")
    let made = try #require(try await backup())
    #expect(made.stores == [])
    #expect(made.leftOut == ["messages.sqlite"])
    _ = try await restore()
    #expect(try scratch.text(of: "new/moved") == "to postgres://db/holdfast\n")
    try scratch.write(Array("from postgres://db/holdfast\n".utf8), to: "data/moved")
    await #expect(throws: BackupError.self) { try await backup(replaces: true) }
  }

  @Test func `a cancelled backup or restoration leaves nothing`() async throws {
    try makeFiles()
    let making = Task {
      while !Task.isCancelled { await Task.yield() }
      return try await backup()
    }
    making.cancel()
    #expect(try await making.value == nil)
    #expect(!exists("backup") && !exists("backup.draft"))
    _ = try await backup()
    let restoring = Task {
      while !Task.isCancelled { await Task.yield() }
      return try await restore()
    }
    restoring.cancel()
    #expect(try await restoring.value == nil)
    #expect(!exists("new"))
  }

  @Test func `images of a store whose files are missing are counted`() async throws {
    try await BackendRig.run(in: scratch("data")) { _ in }
    let script = """
      import sqlite3, sys
      log = sqlite3.connect(sys.argv[1])
      log.execute("INSERT INTO images(id, shop, user, type, size, created_at) "
                  "VALUES (zeroblob(16), 1, 'ann', 'image/png', 1, 0)")
      log.commit()
      """
    try await output("python3", "-c", script, scratch("data/messages.sqlite"))
    #expect(try await backup()?.missingImages == 1)
    #expect(try await restore()?.missingImages == 1)
  }
}
