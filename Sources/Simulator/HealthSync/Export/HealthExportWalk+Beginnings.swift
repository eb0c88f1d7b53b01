import LinkHealth

// What begins like an export, and what does not.
extension HealthExportWalk {
  private static let disguises: [(ExportDisguise, [[UInt8]], String)] = [
    (.gzip, [[0x1F, 0x8B]], "it is packed with gzip; unpack it with gunzip first"),
    (.bzip2, [[0x42, 0x5A, 0x68]], "it is packed with bzip2; unpack it with bunzip2 first"),
    (.xz, [[0xFD, 0x37, 0x7A, 0x58]], "it is packed with xz; unpack it with unxz first"),
    (
      .zstandard, [[0x28, 0xB5, 0x2F, 0xFD]], "it is packed with zstd; unpack it with unzstd first"
    ),
    (
      .zip, [[0x50, 0x4B, 3, 4], [0x50, 0x4B, 5, 6]],
      "it is a zip that comes through a pipe; name the file itself"
    ),
    (
      .utf16, [[0xFE, 0xFF], [0xFF, 0xFE], [0, 0x3C], [0x3C, 0]],
      "it is XML in UTF-16; convert it with iconv -f UTF-16 -t UTF-8 first"
    ),
  ]
  private static let again =
    "use the zip file from the phone: Health, your picture, Export All Health Data"

  mutating func tryBeginnings() {
    for (disguise, beginnings, words) in Self.disguises {
      for start in beginnings { tryDisguise(disguise, start) }
      compareWords(.disguised(disguise), words, nil)
    }
    for _ in 0..<3 { tryRoot() }
  }

  private mutating func tryRoot() {
    draft = ExportDraft()
    drawProlog()
    if happens(4) {
      // Behind this no type definition waits for more bytes.
      draft.add(.skipped(shown: 0), "x")
      if happens(3) { draft = ExportDraft() }
      compareDraft("no export")
      compareWords(.empty, "there is no element HealthData in it", Self.again)
    } else {
      let name =
        happens(2)
        ? String(of: "r", count: one([62, 63, 64, 65, 100])) : one(["gpx", "Record", "a"])
      add(ExportStart(name: name, isEmpty: happens(2)))
      drawRoot()
      end("HealthData")
      compareDraft("another root")
      let words = "it holds \(name), not HealthData"
      compareWords(.foreign(element: name), words, Self.again)
    }
  }

  /// Compares what is said of an error, and of what helps.
  mutating func compareWords(_ error: HealthExportError, _ words: String, _ what: String?) {
    compare("the words for an error", error.description, words)
    compare("what helps", error.remedy, what)
  }

  /// Tries the first bytes of a file that is no XML yet, or of one that only begins like it.
  private mutating func tryDisguise(_ disguise: ExportDisguise, _ start: [UInt8]) {
    var start = start
    let isLike = happens(3)
    if isLike { start[number(0...start.count - 1)] ^= one([2, 0x10, 0x80]) }
    let rest = one(["", "x", "\n\n", "<HealthData></HealthData>"])
    let found = read(start + Array(rest.utf8))
    let must: HealthExportError? =
      isLike ? (rest.hasPrefix("<") ? nil : .empty) : .disguised(disguise)
    compareDisguise(found, must, isLike: isLike, start)
    var bytes = Array("<HealthData>".utf8)
    cuts = [bytes.count]
    bytes += start + Array("\n</HealthData>".utf8)
    compareWithin(read(bytes))
    cuts = []
    guard !isLike else { return }
    var reader = HealthExportReader()
    let four = (start + [9, 9])[..<4]
    reader.append(four.span)
    let outcome = Result { () throws(HealthExportError) in try reader.next() }
    compareFirst(outcome, disguise)
  }

  /// Compares what is read of a file that is something else, or only like that.
  mutating func compareDisguise(
    _ found: Found, _ must: HealthExportError?, isLike: Bool, _ start: [UInt8]
  ) {
    compare("the error of \(start)", found.error, must)
    compare("the bytes read of a disguise", found.tally.bytes == 0, !isLike)
  }

  mutating func compareWithin(_ found: Found) {
    compare("the error of what is within an export", found.error, nil)
  }

  mutating func compareFirst(
    _ outcome: Result<HealthBatch?, HealthExportError>, _ disguise: ExportDisguise
  ) {
    compare("the first four bytes", outcome, .failure(.disguised(disguise)))
  }

  /// Tries whether the beginning of the draft shows an export.
  mutating func tryLook() {
    let whole = draft.bytes
    let start = whole.prefix(one([0, 11, 20, 60, 200]))
    compareLook(HealthExportReader.isExport(start.span), Array(start))
    compareReasons(HealthExportSkip.allCases.map(\.text))
  }

  mutating func compareLook(_ found: Bool, _ start: [UInt8]) {
    let marks = ["<!DOCTYPE HealthData", "<HealthData"].map { Array($0.utf8) }
    let isExport = marks.contains { mark in
      start.indices.contains { start[$0...].starts(with: mark) }
    }
    compare("whether \(Self.text(start)) is one", found, isExport)
  }

  mutating func compareReasons(_ texts: [String]) {
    compare("the number of different reasons", Set(texts).subtracting([""]).count, 17)
  }
}
