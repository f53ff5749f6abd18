// SPDX-License-Identifier: GPL-2.0
/* The attributes that a PCI function shows, at the same relative path: /sys/class/net/X/device/. */
#include "solar_rdma.h"

static const char *const speed_names[] = {
	"Unknown",	   "2.5 GT/s PCIe",  "5.0 GT/s PCIe",
	"8.0 GT/s PCIe",   "16.0 GT/s PCIe", "32.0 GT/s PCIe",
};

void solar_pcie_init(struct solar_pcie *pcie)
{
	pcie->current_gen = 4;
	pcie->max_gen = 4;
	pcie->current_width = 16;
	pcie->max_width = 16;
}

static const struct solar_pcie *pcie_of(struct device *dev)
{
	return &((struct solar_port *)dev_get_drvdata(dev))->pcie;
}

static const char *speed_name(u32 gen)
{
	return speed_names[gen < ARRAY_SIZE(speed_names) ? gen : 0];
}

static ssize_t current_link_speed_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", speed_name(pcie_of(dev)->current_gen));
}

static ssize_t max_link_speed_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", speed_name(pcie_of(dev)->max_gen));
}

static ssize_t current_link_width_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", pcie_of(dev)->current_width);
}

static ssize_t max_link_width_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", pcie_of(dev)->max_width);
}

static ssize_t aer_dev_correctable_show(struct device *dev, struct device_attribute *attr,
					char *buf)
{
	const struct solar_pcie *pcie = pcie_of(dev);

	return sysfs_emit(buf, "RxErr %u\nBadTLP %u\nBadDLLP 0\nRollover 0\nTimeout 0\n"
			  "NonFatalErr 0\nCorrIntErr 0\nHeaderOF 0\nTOTAL_ERR_COR %u\n",
			  pcie->aer_correctable, pcie->aer_bad_tlp,
			  pcie->aer_correctable + pcie->aer_bad_tlp);
}

static ssize_t aer_dev_nonfatal_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "CmpltTO %u\nTOTAL_ERR_NONFATAL %u\n", pcie_of(dev)->aer_nonfatal,
			  pcie_of(dev)->aer_nonfatal);
}

static ssize_t aer_dev_fatal_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "DLP %u\nTOTAL_ERR_FATAL %u\n", pcie_of(dev)->aer_fatal,
			  pcie_of(dev)->aer_fatal);
}

static DEVICE_ATTR_RO(current_link_speed);
static DEVICE_ATTR_RO(max_link_speed);
static DEVICE_ATTR_RO(current_link_width);
static DEVICE_ATTR_RO(max_link_width);
static DEVICE_ATTR_RO(aer_dev_correctable);
static DEVICE_ATTR_RO(aer_dev_nonfatal);
static DEVICE_ATTR_RO(aer_dev_fatal);

static struct attribute *solar_device_attrs[] = {
	&dev_attr_current_link_speed.attr,  &dev_attr_max_link_speed.attr,
	&dev_attr_current_link_width.attr,  &dev_attr_max_link_width.attr,
	&dev_attr_aer_dev_correctable.attr, &dev_attr_aer_dev_nonfatal.attr,
	&dev_attr_aer_dev_fatal.attr,	    NULL,
};

static const struct attribute_group solar_device_group = { .attrs = solar_device_attrs };

const struct attribute_group *solar_device_groups[] = { &solar_device_group, NULL };
