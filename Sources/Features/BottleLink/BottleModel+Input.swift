public import LinkCore
public import LinkWire

extension BottleModel.Input: LinkInput {
  public init(_ event: LinkEvent, at wall: Timestamp) { self = .link(event) }
  public var event: LinkEvent? { if case .link(let event) = self { event } else { nil } }
}

extension BottleModel {
  /// Everything that can happen to a bottle's link.
  public enum Input: Sendable, Equatable, Codable {
    // The app.
    /// Connect, and keep connecting.
    case start
    /// Disconnect, and leave nothing outstanding.
    case stop
    /// Connect and synchronise now, under a number of the app.
    case refresh(UInt64)
    /// Keep the connection although nothing happens; each true is taken back by a false.
    case hold(Bool)
    /// Ask something of the bottle, under a number of the app.
    case perform(UInt64, BottleRequest)
    /// Use another bottle, or the first one that is found.
    case choose(KnownBottle?)
    /// The drinks up to this number were shown.
    case shown(through: UInt64)

    /// What the device says.
    case link(LinkEvent)

    // The radio.
    case central(CentralEvent)
    /// Services were discovered and notifications turned on.
    case discovered(AttemptID, longestValue: Int, BottleState, at: Timestamp)
    /// It was not: a service is missing, the bottle is too slow.
    case undiscovered(AttemptID, LinkFailure)
    /// A characteristic notified a value.
    case heard(AttemptID, News, at: Timestamp)
    case written(WriteID)
    case unwritten(WriteID, LinkFailure)

    // The store.
    /// What an earlier run left; the first input.
    case restored(DrinkSnapshot)
    case committed(UInt64, [Drink])
    case uncommitted(UInt64, StoreFailure)
  }

  /// A notified value.
  public enum News: Sendable, Equatable, Codable {
    case state(BottleState)
    case chunk(BottleChunk)
    case calibration(BottleCalibration)
    case battery(UInt8)
    /// A chunk that cannot be read.
    case brokenChunk(detail: String)
    /// Another value that cannot be read.
    case malformed(detail: String)

    /// Reads the value of a characteristic; `nil` for one that nothing depends on.
    public init?(_ bytes: [UInt8], of attribute: BottleAttribute) {
      do throws(BottleFormatError) {
        switch attribute {
        case .state: self = .state(try BottleState(bytes))
        case .drinks: self = .chunk(try BottleChunk(bytes))
        case .calibration: self = .calibration(try BottleCalibration(bytes))
        case .battery:
          guard bytes.count == 1 else {
            self = .malformed(detail: "battery: \(bytes.count) bytes instead of 1")
            return
          }
          self = .battery(bytes[0])
        case .activity, .configuration, .syncControl, .command, .settings: return nil
        }
      } catch {
        self =
          attribute == .drinks
          ? .brokenChunk(detail: error.description) : .malformed(detail: error.description)
      }
    }
  }

  /// Everything a bottle's link can ask for; carried out in order.
  public enum Effect: Sendable, Equatable, Codable {
    /// Look for bottles.
    case scan
    case stopScan
    /// Ask for a connection; a queued one stays for ever. Before that the bottle is left alone for
    /// a while.
    case connect(AttemptID, PeripheralID, isQueued: Bool, after: Duration = .zero)
    case cancel(AttemptID)
    /// Discover the services, subscribe, read the state; then say `.discovered`.
    case discover(AttemptID)
    case write(AttemptID, WriteID, BottleAttribute, [UInt8])
    /// Store, then say `.committed` or `.uncommitted`.
    case commit(UInt64, DrinkChange)
    /// Note that drinks were shown; a failure shows them again in the next run.
    case confirm(UInt64)
    case update(BottleUpdate)
  }
}
