import CommandKit
import Foundation
import LinkSimulator

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Plans in files, as the corpus of the tests keeps them.
enum PlanFile<Feature: SimulatedFeature> {
  /// Reads a case of the corpus.
  static func read(_ path: String) throws(CommandFailure) -> CorpusCase<Feature> {
    let bytes = try TextFile.read(path)
    do {
      return try JSONDecoder().decode(CorpusCase<Feature>.self, from: Data(bytes))
    } catch {
      throw CommandFailure(
        .failed, "\(path) holds no plan: \(error)", remedy: "give a file that --shrink wrote")
    }
  }

  /// Writes a case for everybody to read (0644), in place of what is there.
  static func write(_ kept: CorpusCase<Feature>, to path: String) throws(CommandFailure) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    let bytes: Data
    do {
      bytes = try encoder.encode(kept) + Data("\n".utf8)
    } catch {
      throw CommandFailure(.failed, "the plan cannot be written as JSON: \(error)")
    }
    let flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC
    let descriptor = unsafe open(path, flags, 0o644)
    guard descriptor >= 0 else { throw failure(path) }
    let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    do {
      try file.write(contentsOf: bytes)
      try file.close()
    } catch {
      throw failure(path)
    }
  }

  private static func failure(_ path: String) -> CommandFailure {
    CommandFailure(
      .failed, "\(path) cannot be written: \(Console.reason(of: errno))",
      remedy: "name another file with --corpus")
  }
}
