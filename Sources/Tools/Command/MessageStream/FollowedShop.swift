import CommandKit
import Holdfast
import LinkWire

/// A shop that `stream` follows: its stream, its view and its consumer.
struct FollowedShop: Sendable {
  let stream: ShopStream
  let view: any LinkView<StreamUpdate>
  let deliveries: StreamDeliveries?
  private let printing: Task<StreamDeliveries.Ending, Never>?

  /// Begins to print deliveries, if there is a consumer.
  init(
    _ stream: ShopStream, _ view: any LinkView<StreamUpdate>, _ deliveries: StreamDeliveries?
  ) {
    (self.stream, self.view, self.deliveries) = (stream, view, deliveries)
    printing = deliveries.map { deliveries in Task { await deliveries.run() } }
  }

  /// The view for the updates of the stream.
  var shown: any LinkView<StreamUpdate> {
    deliveries == nil ? view : ViewBesideDeliveries(view: view)
  }

  /// Returns once everything that is stored has been delivered, and confirmed where that is asked.
  func finish() async {
    deliveries?.finish()
    _ = await printing?.value
  }

  /// Ends the run when the printing failed, and when no confirmation can come any more.
  func watch(
    isOnce: Bool, in group: inout TaskGroup<Void>, end: @escaping @Sendable () async -> Void
  ) {
    guard let deliveries, let printing else { return }
    deliveries.watch(printing, isOnce: isOnce, in: &group, end: end)
  }

  /// Closes the stream and ends the printing.
  func close() async {
    await stream.close()
    deliveries?.stop()
  }

  /// Forgets a consumer of this run alone; returns what went wrong with the deliveries.
  func forget(in store: any TimelineStore, isOnce: Bool) async -> CommandFailure? {
    let told = await printing?.value.told(isOnce: isOnce)
    await deliveries?.end(in: store, of: stream.configuration.shop)
    return told
  }
}
