import Foundation
package import HoldfastCore

/// A reader of one journal file. It returns the steps in the order in which they were written.
///
/// The reader omits a last line that a crash truncated, and a last step whose effects were not
/// written. Any other damage is an error.
package struct JournalReader<M: Journaled>: ~Copyable {
  /// The header of the file.
  package let header: JournalHeader<M>
  /// The number of the cause's line of the step that was returned last, counted from 1.
  package private(set) var line = 1
  private var lines: LineReader
  /// The version of the file's format.
  private let version: Int
  /// A cause whose effects were not yet written.
  private var begun: (JournalLine<M>, Int)?
  private let decoder = JSONDecoder()

  /// Opens a file and reads its header.
  ///
  /// - Parameter follows: Whether the file grows while it is read. After the last step, `next` then
  ///   looks for further ones.
  /// - Throws: An error if the file cannot be read, or does not begin with a header of this version
  ///   and machine.
  package init(path: String, follows: Bool = false) throws(JournalError) {
    var lines = try LineReader(path: path, follows: follows)
    let first = try lines.next()
    let (version, machine) = try JournalFormat.read(first, in: path)
    guard machine == M.journalName else {
      throw JournalError(path: path, line: 1, .machine(machine, known: [M.journalName]))
    }
    header = try JournalError.header(
      JournalHeader<M>.self, from: first?.bytes ?? [], in: path, version: version)
    self.version = version
    self.lines = lines
  }

  /// Returns the next complete step; `nil` at the end of the file.
  ///
  /// - Parameter see: A function that is called with each note before the step, and its line.
  /// - Throws: An error if a line before the last one is damaged or out of order.
  package mutating func next(
    notes see: (JournalNote, _ line: Int) -> Void = { _, _ in }
  ) throws(JournalError) -> JournalStep<M>? {
    guard let (happened, number) = try cause(see) else { return nil }
    let cause: JournalStep<M>.Cause
    switch (happened.input, happened.tick, happened.out) {
    case (let input?, nil, nil): cause = .input(input)
    case (nil, true?, nil): cause = .tick
    case (_, _, _):
      throw error(at: number, .order("an input or a tick is expected here"))
    }
    guard let (came, after) = try read(see) else {
      begun = (happened, number)
      return nil
    }
    guard let effects = came.out, came.input == nil, came.tick == nil, came.at == happened.at else {
      throw error(at: after, .order("the effects of line \(number) are expected here"))
    }
    line = number
    return JournalStep(at: happened.at, cause: cause, effects: effects)
  }

  /// Returns the cause of the next step, which an earlier call may have read.
  private mutating func cause(
    _ see: (JournalNote, Int) -> Void
  ) throws(JournalError) -> (JournalLine<M>, Int)? {
    guard let begun else { return try read(see) }
    self.begun = nil
    return begun
  }

  /// Returns the next line that is not a note.
  private mutating func read(
    _ see: (JournalNote, Int) -> Void
  ) throws(JournalError) -> (JournalLine<M>, Int)? {
    while let line = try lines.next(), line.isWhole {
      let decoded: JournalLine<M>
      do {
        decoded = try decoder.decode(JournalLine<M>.self, from: Data(line.bytes))
      } catch {
        let detail = DecodingFault.description(for: error)
        throw self.error(
          at: line.number,
          DecodingFault.isOfForm(error) ? .form(detail, version: version) : .line(detail))
      }
      guard decoded.input == nil, decoded.tick == nil, decoded.out == nil, let note = decoded.note
      else { return (decoded, line.number) }
      if let (attempt, content) = note.content {
        see(JournalNote(at: decoded.at, attempt: attempt, content), line.number)
      }
    }
    return nil
  }

  private func error(at number: Int, _ problem: JournalError.Problem) -> JournalError {
    JournalError(path: lines.path, line: number, problem)
  }
}

/// The description of a decoding error.
package enum DecodingFault {
  /// Returns whether an error concerns the form of a JSON text, and not its syntax.
  static func isOfForm(_ error: any Error) -> Bool {
    if case .dataCorrupted(let context)? = error as? DecodingError {
      !context.codingPath.isEmpty
    } else {
      true
    }
  }

  /// Returns a description of an error in a line or a file. It contains no names of Swift types.
  package static func description(for error: any Error, in whole: String = "the line") -> String {
    switch error as? DecodingError {
    case .dataCorrupted(let context)? where context.codingPath.isEmpty: return "it is not JSON"
    case .dataCorrupted(let context)?: return "\(path(context, in: whole)) has an invalid value"
    case .keyNotFound(let key, let context)?: return "\(path(context, key, in: whole)) is missing"
    case .typeMismatch(_, let context)?: return "\(path(context, in: whole)) is of another type"
    case .valueNotFound(_, let context)?: return "\(path(context, in: whole)) is null"
    case _: return "it contains an invalid value"
    }
  }

  /// Returns a path such as `input.send._0[2]`, or `whole` if the path is empty.
  package static func path(
    _ context: DecodingError.Context, _ last: (any CodingKey)? = nil, in whole: String
  ) -> String {
    let path = context.codingPath + [last].compactMap(\.self)
    let names = path.map { key in key.intValue.map { "[\($0)]" } ?? ".\(key.stringValue)" }
    let text = names.joined()
    return text.isEmpty ? whole : text.hasPrefix(".") ? String(text.dropFirst()) : text
  }
}
