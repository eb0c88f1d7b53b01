#if canImport(HealthKit)
  import Foundation
  import HealthKit
  import HoldfastCore
  import HoldfastHealthSamples
  import HoldfastSyncData

  /// The start of a page: HealthKit's anchor, and the start of the first page.
  ///
  /// All pages keep the start of the first one, because an anchor belongs to the predicate of its
  /// query. The stored anchor is a version, the start in nanoseconds and HealthKit's own bytes.
  struct HealthKitPlace {
    private static let version: UInt8 = 1
    private static let header = 9
    /// The anchor of a type that the system does not have. It counts as none.
    static let none = HealthAnchor([0])

    /// The earliest start of an added sample; `nil` if there is no limit.
    private(set) var from: Timestamp?
    private(set) var anchor: HKQueryAnchor?
    /// The anchor of the query, if it has one.
    private var given: HealthAnchor?

    /// Creates a place. An anchor of another source counts as none, so that everything is read.
    init(_ start: HealthPageStart, now: Timestamp) {
      switch start {
      case .last(let span): from = now.advanced(by: .zero - span)
      case .since(let time, let span): from = min(time, now.advanced(by: .zero - span))
      case .after(let anchor):
        given = anchor
        read(anchor.bytes)
      }
    }

    private mutating func read(_ bytes: [UInt8]) {
      guard bytes.count > Self.header, bytes[0] == Self.version else { return }
      let start = bytes[1..<Self.header].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      from = Timestamp(nanoseconds: Int64(bitPattern: start))
      anchor = try? NSKeyedUnarchiver.unarchivedObject(
        ofClass: HKQueryAnchor.self, from: Data(bytes[Self.header...]))
    }

    /// The predicate of all pages.
    var predicate: NSPredicate? {
      from.map {
        HKQuery.predicateForSamples(withStart: $0.date, end: nil, options: .strictStartDate)
      }
    }

    /// Returns the anchor of a page, or `nil` if it cannot be stored.
    ///
    /// HealthKit's anchor also moves when other types change. A page without changes therefore
    /// returns the anchor of its query.
    func next(_ anchor: HKQueryAnchor, isEmpty: Bool) -> HealthAnchor? {
      if isEmpty, let given { return given }
      guard
        let data = try? NSKeyedArchiver.archivedData(
          withRootObject: anchor, requiringSecureCoding: true)
      else { return nil }
      let start = UInt64(bitPattern: (from ?? Timestamp(nanoseconds: .min)).nanoseconds)
      let bytes = (0..<8).map { UInt8(truncatingIfNeeded: start >> (56 - 8 * UInt64($0))) }
      return HealthAnchor([Self.version] + bytes + [UInt8](data))
    }
  }
#endif
