import Foundation
import Holdfast
import HoldfastCore
import HoldfastHealthSamples
import HoldfastSQLiteStores
import HoldfastTestKit
import Synchronization

/// An import of an Apple Health export, into samples or into a store.
enum Import {
  /// Returns the benchmarks of imports.
  ///
  /// - Parameter megabytes: The size of the export that all contenders read.
  static func benchmarks(megabytes: Int) -> [Benchmark] {
    let file = GeneratedExport(megabytes: megabytes)
    return [reading(file), importing(file), asking(file), memory(file)]
  }

  private static func reading(_ file: GeneratedExport) -> Benchmark {
    Benchmark(
      name: "import",
      question: "an export of \(file.megabytes) MB: from the bytes of the file to typed samples",
      unit: "MB/s",
      subject: Contender(name: "holdfast, one core") { try speed(try file.path()) },
      peers: [
        Contender(name: "what was asked for", aim: 1) { 400 },
        Contender(name: "Python expat, tags only", aim: 2) {
          try await peer("expat", try file.path()).speed
        },
        Contender(name: "Python iterparse", aim: 2) {
          try await peer("iterparse", try file.path()).speed
        },
      ], rounds: (5, 3))
  }

  private static func importing(_ file: GeneratedExport) -> Benchmark {
    let store = SharedStore()
    return Benchmark(
      name: "import-again",
      question: "the same export a second time into a store that has it",
      unit: "MB/s",
      subject: Contender(name: "holdfast, again") {
        let scratch = try await store.scratch(file)
        return try await stored(try file.path(), in: scratch.path)
      },
      peers: [
        Contender(name: "reading alone", aim: 0.7) { try speed(try file.path()) },
        Contender(name: "the first time, into an empty store") {
          let scratch = try Scratch()
          return try await stored(try file.path(), in: scratch.path)
        },
      ], rounds: (5, 3))
  }

  private static func asking(_ file: GeneratedExport) -> Benchmark {
    let store = SharedStore()
    return Benchmark(
      name: "question",
      question: "steps of each day of a year, devices merged, out of a store with that export",
      unit: "ms", better: .less,
      subject: Contender(name: "holdfast, the whole answer") {
        try await Question.days(in: try await store.scratch(file).path)
      },
      peers: [
        Contender(name: "reading the same samples alone", aim: 3) {
          try await Question.reading(in: try await store.scratch(file).path)
        }
      ], rounds: (5, 3))
  }

  private static func memory(_ file: GeneratedExport) -> Benchmark {
    Benchmark(
      name: "import-memory",
      question: "the peak of a process that imports \(file.megabytes) MB and did nothing before",
      unit: "MB", better: .less,
      subject: Contender(name: "holdfast, into an empty store") {
        let scratch = try Scratch()
        return try await Peer.ours("import").figure([try file.path(), scratch.path])
      },
      peers: [
        Contender(name: "what was asked for", aim: 1) { 64 },
        Contender(name: "Python iterparse, nothing kept") {
          try await peer("iterparse", try file.path()).memory
        },
      ], rounds: (5, 3))
  }

  /// Returns the speed of reading an export without a store, in megabytes per second.
  private static func speed(_ path: String) throws -> Double {
    guard let handle = FileHandle(forReadingAtPath: path) else { throw Unavailable("no file") }
    var piece = [UInt8](repeating: 0, count: 256 << 10)
    var reader = HealthExportReader()
    var count = 0
    let start = ContinuousClock.now
    while true {
      let length = unsafe piece.withUnsafeMutableBytes {
        unsafe read(handle.fileDescriptor, $0.baseAddress, $0.count)
      }
      guard length > 0 else { break }
      reader.append(piece.span.extracting(0..<length))
      while let batch = try reader.next() { count += batch.rows.count }
    }
    reader.finish()
    while let batch = try reader.next() { count += batch.rows.count }
    let time = start.duration(to: .now).inSeconds
    guard count == reader.counts.total, count > 1_000 else { throw Unavailable("samples are lost") }
    return Double(reader.counts.bytes) / time / 1e6
  }

  /// Returns the speed of an import into a store in a directory, in megabytes per second.
  static func stored(_ path: String, in directory: String) async throws -> Double {
    let store = try await SQLiteHealthStore.open(in: directory)
    let start = ContinuousClock.now
    let report = try await HealthImport.run(path, into: store)
    let time = start.duration(to: .now).inSeconds
    await store.close()
    guard report.ending == .complete else { throw Unavailable("the import did not end well") }
    return Double(report.counts.bytes) / time / 1e6
  }

  /// Returns the speed of a Python program in megabytes per second, and its peak memory.
  private static func peer(
    _ way: String, _ path: String
  ) async throws -> (speed: Double, memory: Double) {
    let program = try Peer.python("import.py").start([way, path])
    for await line in program.lines {
      let figures = line.split(separator: " ").compactMap { Double($0) }
      if figures.count == 2 { return (figures[0], figures[1]) }
    }
    throw Unavailable(await program.diagnostics.reduce("it ended without a word") { $1 })
  }
}

/// A store into which the export has been imported. It is created once.
private actor SharedStore {
  private var made: Scratch?

  func scratch(_ file: GeneratedExport) async throws -> Scratch {
    if let made { return made }
    let scratch = try Scratch()
    let store = try await SQLiteHealthStore.open(in: scratch.path)
    _ = try await HealthImport.run(try file.path(), into: store)
    await store.close()
    made = scratch
    return scratch
  }
}

/// The export that all contenders read. It is created on first use and removed after the
/// benchmarks.
private final class GeneratedExport: Sendable {
  let megabytes: Int
  private let scratch = Mutex<Scratch?>(nil)

  init(megabytes: Int) {
    self.megabytes = megabytes
  }

  func path() throws -> String {
    try scratch.withLock { scratch in
      if let scratch { return scratch("export.xml") }
      let fresh = try Scratch()
      try fresh.write([], to: "export.xml")
      guard let file = FileHandle(forWritingAtPath: fresh("export.xml")) else {
        throw Unavailable("no room for an export")
      }
      // A small file covers at least 30 days. A large one covers up to ten years, as on a phone.
      let plan = HealthExportGenerator.Plan(
        seed: 1, firstDay: 18_000, days: min(3_650, max(30, megabytes * 2)))
      var generator = HealthExportGenerator(plan.sized(megabytes * 1_000_000))
      while let chunk = generator.next() { try file.write(contentsOf: chunk) }
      try file.close()
      scratch = fresh
      return fresh("export.xml")
    }
  }
}
