// Package storage declares the kinds of the group storage.k8s.io/v1: classes of
// volumes (StorageClass, VolumeAttributesClass), what CSI drivers declare (CSIDriver,
// CSINode, CSIStorageCapacity), and VolumeAttachment.
//
// Classes describe volumes that exist, so that they are fixed but for what concerns
// new volumes or claims. An entry of a CSINode is taken out before it comes back with
// other properties. What a VolumeAttachment names is validated when it is created
// alone, since earlier releases stored other names.
package storage
