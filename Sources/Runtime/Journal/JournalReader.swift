import Foundation
public import LinkCore

/// Reads a journal back, step by step, in the order of writing.
///
/// A last line that was torn by a crash, and a last step of which only the first line was written,
/// are left out: nothing is known about them. Anything else that is not as written is an error.
public struct JournalReader<M: Machine>: ~Copyable {
  /// What the run began with.
  public let header: JournalHeader
  /// The line of the step read last, counted from 1.
  public private(set) var line = 1
  private var lines: LineReader
  private let decoder = JSONDecoder()

  /// Opens one file and reads its header.
  ///
  /// - Throws: When the file cannot be read or does not begin with a header of this version.
  public init(path: String) throws(JournalError) {
    var lines = try LineReader(path: path)
    guard let first = try lines.next() else {
      throw JournalError(path: path, line: 1, .header("the file is empty"))
    }
    header = try Self.header(of: first.bytes, in: path, decoder)
    self.lines = lines
  }

  /// The next whole step; `nil` at the end.
  ///
  /// - Throws: When a line before the last is damaged or out of place.
  public mutating func next() throws(JournalError) -> JournalStep<M>? {
    guard let (happened, number) = try read() else { return nil }
    let cause: JournalStep<M>.Cause
    switch (happened.input, happened.tick, happened.out) {
    case (let input?, nil, nil): cause = .input(input)
    case (nil, true?, nil): cause = .tick
    case (_, _, _):
      throw error(at: number, .order("an input or a tick is expected here"))
    }
    guard let (came, after) = try read() else { return nil }
    guard let effects = came.out, came.input == nil, came.tick == nil, came.at == happened.at else {
      throw error(at: after, .order("the effects of line \(number) are expected here"))
    }
    line = number
    return JournalStep(at: happened.at, cause: cause, effects: effects)
  }

  private mutating func read() throws(JournalError) -> (JournalLine<M>, Int)? {
    guard let line = try lines.next(), line.isWhole else { return nil }
    do {
      return (try decoder.decode(JournalLine<M>.self, from: Data(line.bytes)), line.number)
    } catch {
      throw self.error(at: line.number, .line(JournalError.words(for: error)))
    }
  }

  private func error(at number: Int, _ problem: JournalError.Problem) -> JournalError {
    JournalError(path: lines.path, line: number, problem)
  }

  private static func header(
    of bytes: [UInt8], in path: String, _ decoder: JSONDecoder
  ) throws(JournalError) -> JournalHeader {
    let data = Data(bytes)
    let header: JournalHeader
    do {
      let version = try decoder.decode(FormatVersion.self, from: data).journal
      guard version == JournalHeader.version else {
        throw JournalError(path: path, line: 1, .version(version))
      }
      header = try decoder.decode(JournalHeader.self, from: data)
    } catch let error as JournalError {
      throw error
    } catch {
      throw JournalError(path: path, line: 1, .header(JournalError.words(for: error)))
    }
    return header
  }
}

/// All that may be asked of a header before its version is known.
struct FormatVersion: Decodable {
  var journal: Int
}
