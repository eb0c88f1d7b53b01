import CommandKit
import Foundation
import LinkRuntime
import LinkSimulator

/// Plans in files, as the corpus of the tests keeps them.
enum PlanFile<Feature: SimulatedFeature> {
  /// Reads a case of the corpus.
  static func read(_ path: String) throws(CommandFailure) -> CorpusCase<Feature> {
    let bytes = try TextFile.read(path)
    do {
      return try JSONDecoder().decode(CorpusCase<Feature>.self, from: Data(bytes))
    } catch {
      throw CommandFailure(
        .failed, "\(path) holds no plan: \(Self.words(for: error))",
        remedy: "give a file that --shrink wrote")
    }
  }

  /// The problem of a plan: that of its own decoders, where they refuse a value.
  private static func words(for error: any Error) -> String {
    guard case .dataCorrupted(let context) = error as? DecodingError, !context.codingPath.isEmpty
    else { return DecodingFault.words(for: error, in: "the file") }
    return "\(DecodingFault.place(context, in: "the file")): \(context.debugDescription)"
  }

  /// Writes a case that all users can read (0644), in place of what is there.
  static func write(_ kept: CorpusCase<Feature>, to path: String) throws(CommandFailure) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    let bytes: Data
    do {
      bytes = try encoder.encode(kept) + Data("\n".utf8)
    } catch {
      throw CommandFailure(.failed, "the plan cannot be written as JSON: \(error)")
    }
    try TextFile.write(bytes, to: path)
  }
}
