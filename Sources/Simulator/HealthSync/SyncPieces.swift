import LinkCore
import LinkServerCore
import LinkWire

/// Bytes of an upload that the server has written to its file.
public struct SyncPiece: Sendable {
  var token: StoreToken
  var id: UUID128
  var record: SyncUploadRecord
  var offset: Int
  var bytes: [UInt8]
  var isLast: Bool

  var end: Int { offset + bytes.count }
}

/// What happens to an upload that takes several requests.
public enum SyncUploadFact: Sendable, Equatable {
  /// A place is asked for; or the payload is sent to become one.
  case begins(isGzip: Bool)
  /// The phone has kept where it goes on.
  case kept(place: String, isGzip: Bool)
  /// Bytes are sent to a place.
  case appends(place: String, from: Int, count: Int)
  /// The server answered about a place.
  case told(place: String, status: Int, offset: Int?, isComplete: Bool)
}

/// Finds bytes that are sent again although the server has said that it has them.
struct SyncPieces: Sendable {
  /// An upload as its phone was told of it.
  private struct Known {
    var place: String
    var offset: Int
  }

  private var known: [String: Known] = [:]
  /// What the phone can go on with, also in another process.
  private var tickets: [String: (place: String, isGzip: Bool)] = [:]
  /// The most that a server said of each place.
  private var most: [String: Int] = [:]

  mutating func noted(
    _ file: String, _ fact: SyncUploadFact, _ now: Instant, _ found: inout Findings
  ) {
    switch fact {
    case .begins(let isGzip):
      if let ticket = tickets[file], ticket.isGzip == isGzip {
        found.add(.resent, at: now, "\(file) begins anew, and \(ticket.place) goes on")
      }
    case .kept(let place, let isGzip): tickets[file] = (place, isGzip)
    case .appends(let place, let from, let count):
      guard let known = known[file], known.place == place else {
        return found.add(.resent, at: now, "\(file) is sent, and the offset is not known")
      }
      if known.offset != from {
        found.add(
          .resent, at: now,
          "\(file) is sent from \(from) to \(from + count), and the server has \(known.offset)")
      }
    case .told(let place, let status, let offset, let isComplete):
      told(file, place, status, isComplete ? nil : offset, now, &found)
      if isComplete { (known[file], tickets[file]) = (nil, nil) }
    }
  }

  private mutating func told(
    _ file: String, _ place: String, _ status: Int, _ offset: Int?, _ now: Instant,
    _ found: inout Findings
  ) {
    if let offset, 200..<300 ~= status || status == 409 {
      if let most = most[place], offset < most {
        found.add(.lost, at: now, "\(place) has \(offset) bytes, and had \(most)")
      }
      most[place] = offset
      known[file] = Known(place: place, offset: offset)
    }
    // After a conflict, after refusals that are no matter of time, and after successes that do not
    // tell the offset, such as those of a proxy, it may begin anew.
    let isPassing = [401, 408, 425, 429].contains(status) || (500..<600 ~= status && status != 501)
    let isOffset = 200..<300 ~= status && offset != nil
    if !isPassing, !isOffset { tickets[file] = nil }
  }
}

extension SyncCheckers {
  /// Sees what happened to an upload.
  mutating func noted(
    _ phone: Int, _ file: String, _ fact: SyncUploadFact, _ standing: Standing<SyncFeature>
  ) {
    pieces[phone, default: SyncPieces()].noted(file, fact, standing.now, &found)
  }
}
